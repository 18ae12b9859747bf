//! Execution: at commit, one by one, in order, the same way on every replica.

use ng_wire::replica::{LogOperation, Op, PrepareHeader};

use crate::effect::{Answer, Effect, Effects};
use crate::replica::{Replica, Status};

impl Replica {
    /// Hands out what is committed and here, as far as the shell takes it.
    pub(crate) fn apply_committed(&mut self, effects: &mut Effects) {
        if matches!(self.status, Status::Blank | Status::Diverged) {
            return;
        }
        while self.applying < self.commit_max
            && self.applying.since(self.commit_min) < self.setup.limits.applying
        {
            let Some(header) = self.window.stored(self.applying.next()).copied() else { return };
            self.applying = header.op;
            effects.push(Effect::Apply(header));
        }
    }

    pub(crate) fn on_applied(&mut self, header: &PrepareHeader, reply: Vec<u8>, effects: &mut Effects) {
        assert!(header.op == self.commit_min.next(), "operations are executed in order, one by one");
        assert!(header.op <= self.applying, "only what was handed out is executed");
        self.commit_min = header.op;
        self.remember(header, &reply, effects);
        if header.client != 0 && self.is_primary() {
            let answer = Answer::Done { op: header.op, reply };
            effects.push(Effect::Reply { client: header.client, request: header.request, answer });
        }
        if self.window.stored(header.op).is_none() {
            // Its body was lost after it was handed out: nobody is served from here.
            self.window.release(header.op);
        }
        let retained = self.setup.limits.retained;
        let release = self.commit_min.0.saturating_sub(retained);
        self.window.release(Op(release));
    }

    fn remember(&mut self, header: &PrepareHeader, reply: &[u8], effects: &mut Effects) {
        let Some(table) = self.clients.as_mut().filter(|_| header.client != 0) else { return };
        #[cfg(test)]
        if self.planted.has(crate::plant::Plant::EvictionOrder) {
            table.planted_skew = self.setup.replica.into();
        }
        match LogOperation::from_code(header.operation) {
            Some(LogOperation::Register) => {
                if let Some(evicted) = table.register(header.client, header.op, reply.to_vec()) {
                    effects.push(Effect::Evicted(evicted));
                }
            }
            Some(LogOperation::Logout) => table.remove(header.client),
            _ => table.commit(header.client, header.request, header.op, reply.to_vec()),
        }
    }
}
