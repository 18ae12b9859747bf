//! Reads bodies that memory no longer has back from the journal, a few at a time.

use std::collections::VecDeque;

use ng_io::{Completion, Environment, Outcome, Token};
use ng_storage::journal::Located;
use ng_vsr::Event;
use ng_wire::replica::{Message, PrepareHeader};

use crate::durability::journal::Waits;
use crate::host::ShardLog;
use crate::machine::MetadataMachine;

/// Maximum concurrent reads.
const READS_MAX: usize = 4;

/// Maximum queued reads. Beyond this, reads for other nodes are dropped, because they will ask again.
const WANTED_MAX: usize = 1024;

/// Attempts before a body counts as damaged, because some disks fail a read once.
const ATTEMPTS: u8 = 3;

/// Number of driver tokens for reads, from the first given one.
pub(crate) const READ_TOKENS: u64 = READS_MAX as u64;

/// Purpose of a read.
#[derive(Debug)]
pub(crate) enum Purpose {
    /// To execute the operation.
    Execute,
    /// To send it with a message, once a block is synced.
    Send { to: u8, block: u64, message: Box<Message> },
}

#[derive(Debug)]
pub(crate) struct Wanted {
    group: u64,
    header: PrepareHeader,
    purpose: Purpose,
    /// Failed attempts.
    failed: u8,
}

/// Reads in progress and queued.
#[derive(Debug)]
pub(crate) struct Reads {
    first_token: u64,
    wanted: VecDeque<Wanted>,
    under_way: [Option<(Wanted, Located)>; READS_MAX],
}

impl Reads {
    pub(crate) fn new(first_token: u64) -> Self {
        Self { first_token, wanted: VecDeque::new(), under_way: [const { None }; READS_MAX] }
    }

    /// Queues a read. Returns false if it was dropped: a read for another node, when too many wait.
    #[must_use]
    pub(crate) fn want(&mut self, group: u64, header: PrepareHeader, purpose: Purpose) -> bool {
        let known = |wanted: &Wanted| {
            matches!((&wanted.purpose, &purpose), (Purpose::Execute, Purpose::Execute))
                && wanted.header.checksum == header.checksum
        };
        let twice =
            self.wanted.iter().any(known) || self.under_way.iter().flatten().any(|(wanted, _)| known(wanted));
        let too_many = matches!(purpose, Purpose::Send { .. }) && self.wanted.len() >= WANTED_MAX;
        if !twice && !too_many {
            self.wanted.push_back(Wanted { group, header, purpose, failed: 0 });
        }
        !too_many
    }

    pub(crate) fn is_of(&self, completion: &Completion) -> bool {
        (self.first_token..self.first_token + READ_TOKENS).contains(&completion.token.0)
    }

    fn free(&self) -> Option<usize> {
        self.under_way.iter().position(Option::is_none)
    }
}

impl<E: Environment, M: MetadataMachine> ShardLog<E, M> {
    pub(crate) fn start_reads(&mut self, driver: &mut E::Driver) {
        for _ in 0..self.reads.wanted.len() {
            let Some(place) = self.reads.free() else { return };
            let Some(wanted) = self.reads.wanted.pop_front() else { return };
            let header = wanted.header;
            let in_memory = self
                .groups
                .get(&wanted.group)
                .and_then(|group| group.execution.body(header.op, header.checksum));
            if let Some(body) = in_memory.cloned() {
                self.found(wanted, body);
                continue;
            }
            let located = self.journal.core().locate(wanted.group, header.op.0);
            match located.filter(|located| located.checksum == header.checksum) {
                Some(located) if located.file.is_some() => {
                    let token = Token(self.reads.first_token + place as u64);
                    self.outbox.counts.read += 1;
                    self.journal.read_body(driver, &located, token);
                    self.reads.under_way[place] = Some((wanted, located));
                }
                // The record was just relocated: its copy is not written yet, and the old one may be
                // overwritten.
                Some(_) => self.reads.wanted.push_back(wanted),
                None => self.unreadable(&wanted),
            }
        }
    }

    pub(crate) fn body_read(&mut self, completion: Completion) {
        let place = usize::try_from(completion.token.0 - self.reads.first_token).unwrap_or(0);
        let Some((mut wanted, located)) = self.reads.under_way[place].take() else { return };
        let bytes = match completion.outcome {
            Outcome::Read { buffer, result: Ok(_) } => ng_storage::journal::shell::body_in(&located, &buffer),
            _ => None,
        };
        if let Some(bytes) = bytes.filter(|bytes| wanted.header.verifies(bytes)) {
            self.found(wanted, Self::share(bytes));
            return;
        }
        // The file may have been freed and reused during the read; then the record has moved.
        let moved = self.journal.core().locate(wanted.group, wanted.header.op.0);
        wanted.failed += 1;
        if moved.is_some_and(|moved| moved.position != located.position) || wanted.failed < ATTEMPTS {
            self.reads.wanted.push_front(wanted);
        } else {
            self.unreadable(&wanted);
        }
    }

    fn found(&mut self, wanted: Wanted, body: crate::group::Body) {
        let Wanted { group: id, header, purpose, .. } = wanted;
        match purpose {
            Purpose::Execute => {
                // A state may have replaced the operation during the read.
                if let Some(group) =
                    self.groups.get_mut(&id).filter(|group| header.op > group.execution.executed())
                {
                    group.execution.keep_body(header.op, header.checksum, body);
                    self.agenda.execute(id);
                }
            }
            Purpose::Send { to, block, message } => {
                self.hold_message(block, Waits::Message { group: id, to, message, body: Some(body) });
            }
        }
    }

    /// An operation in execution stays queued: it continues when the replica has repaired the body.
    fn unreadable(&mut self, wanted: &Wanted) {
        let PrepareHeader { op, checksum, .. } = wanted.header;
        let wanted_here = self.groups.get(&wanted.group).is_some_and(|group| op > group.replica.commit_min());
        if self.life.identity.nodes == 1 && wanted_here {
            self.outbox.fail(crate::outbox::Fatal::Lost { group: wanted.group, op });
            return;
        }
        let event = Event::Unreadable { op, checksum };
        self.agenda.event(wanted.group, event);
    }
}

#[cfg(test)]
mod tests {
    use ng_wire::replica::{Commit, Op, View};

    use super::*;

    fn send() -> Purpose {
        let commit = Commit { view: View(1), commit_max: Op(1), head: Op(1) };
        Purpose::Send { to: 1, block: 0, message: Box::new(Message::Commit(commit)) }
    }

    #[test]
    fn messages_for_others_are_dropped_when_too_many_wait_and_executions_never() {
        let mut reads = Reads::new(0);
        let header = PrepareHeader::root(7, 1);
        assert!((0..WANTED_MAX).all(|_| reads.want(7, header, send())));
        assert!(!reads.want(7, header, send()));
        assert!(reads.want(7, header, Purpose::Execute));
        assert_eq!(reads.wanted.len(), WANTED_MAX + 1);
        assert!(reads.want(7, header, Purpose::Execute), "it is wanted already");
        assert_eq!(reads.wanted.len(), WANTED_MAX + 1);
    }
}
