//! Execution: at commit, one by one, in order, the same way on every replica.

use ng_wire::replica::{LogOperation, Op, PrepareHeader};

use crate::effect::{Answer, Effect, Effects};
use crate::replica::{Replica, Status};
use crate::setup::Ticks;

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
        let release = Op(self.commit_min.0.saturating_sub(retained));
        self.window.release(self.kept_behind.map_or(release, |kept| kept.min(release)));
        self.resume_repair(effects);
    }

    /// A group that rests keeps no executed place that is safe in a manifest. A primary keeps what it made in this
    /// view until all have acknowledged it, and sends it once more: nothing else would, as it is committed.
    pub(crate) fn on_checkpointed(&mut self, op: Op, now: Ticks, effects: &mut Effects) {
        if self.status != Status::Normal || self.window.head() > self.commit_min {
            return;
        }
        let all = u32::MAX >> (u32::BITS - u32::from(self.setup.replicas));
        let lacking = self
            .window
            .after(Op::ZERO)
            .find(|(_, slot)| slot.acks != all && slot.header.is_some_and(|header| header.view == self.view));
        let kept = lacking.map(|(op, _)| op).filter(|_| self.is_primary());
        let release = op.min(self.commit_min).min(kept.map_or(Op(u64::MAX), Op::previous));
        self.window.release(self.kept_behind.map_or(release, |kept| kept.min(release)));
        self.window.shrink();
        if let Some(kept) = kept.filter(|kept| *kept <= op) {
            self.resend_prepares(kept.previous(), now, effects);
        }
    }

    fn remember(&mut self, header: &PrepareHeader, reply: &[u8], effects: &mut Effects) {
        let Some(table) = self.clients.as_mut().filter(|_| header.client != 0) else { return };
        #[cfg(any(test, feature = "plants"))]
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
            _ => {
                let (request, stamp) = (header.request, header.body_checksum);
                table.commit(header.client, request, stamp, header.op, reply.to_vec());
            }
        }
    }
}
