//! From executed operations to segments, behind everybody's back: the journal holds what is not there yet.

use ng_io::{Completion, Environment};
use ng_partition::{Applied, Effect as Change};
use ng_storage::store::shell::PlanShell;
use ng_storage::store::{self, CommittedBatch, SegmentStore, list_files};
use ng_wire::replica::Op;

use crate::group::Body;
use crate::host::ShardLog;
use crate::machine::MetadataMachine;
use crate::outbox::{Fatal, Outgoing};
use crate::owner::METADATA;
use crate::poll::cache::Piece;
use crate::transfer::send::Exports;

/// The segments of a shard, and the hands that write them.
#[derive(Debug)]
pub(crate) struct Storing {
    pub(crate) store: SegmentStore,
    pub(crate) shell: PlanShell,
    pub(crate) effects: Vec<store::Effect>,
}

impl Storing {
    pub(crate) const fn new(store: SegmentStore, shell: PlanShell) -> Self {
        Self { store, shell, effects: Vec::new() }
    }
}

impl<E: Environment, M: MetadataMachine> ShardLog<E, M> {
    /// A partition changed: its segments follow.
    pub(crate) fn follow_change(&mut self, id: u64, op: Op, generation: u64, applied: &Applied, body: &Body) {
        self.open_segments(id);
        self.offsets_follow(id, op, applied, body);
        self.changed.insert(id);
        let Storing { store, effects, .. } = &mut self.storing;
        match applied {
            Applied::Done(Change::Batch(batch)) => {
                let committed = CommittedBatch {
                    op: op.0,
                    generation,
                    base_offset: batch.header.base_offset,
                    last_offset: batch.last_offset,
                    timestamp: batch.header.base_timestamp,
                    messages: batch.messages,
                    bytes: body.clone(),
                };
                store.append(id, committed, self.instant, effects);
                self.messages_came(id);
                let piece = Piece::executed(body.clone(), batch.header.base_offset, batch.last_offset);
                self.polls.cache.keep(id, generation, piece);
            }
            Applied::Done(Change::Purge { generation }) => {
                store.purge(id, *generation, op.0, effects);
                self.polls.cache.forget(id);
            }
            Applied::Done(Change::TruncatePrefix { first_offset }) => {
                store.truncate_prefix(id, generation, *first_offset, effects);
                self.segments_changed(id);
            }
            _ => {}
        }
    }

    /// Takes the completion of a step of the store.
    pub(crate) fn stored(&mut self, driver: &mut E::Driver, completion: Completion) {
        let Storing { store, shell, effects } = &mut self.storing;
        if let Some((lane, result)) = shell.completed(driver, completion) {
            store.step(store::Event::Ended { lane, result }, self.instant, effects);
            self.forget_replaced();
        }
    }

    /// Starts what the store wants done, and hears what it has done.
    pub(crate) fn perform_store(&mut self, driver: &mut E::Driver) {
        let due = self.storing.store.next_deadline().is_some_and(|due| due <= self.instant);
        if due {
            self.storing.store.step(store::Event::Due, self.instant, &mut self.storing.effects);
        }
        for buffer in self.polls.cache.released() {
            self.storing.shell.use_again(buffer);
        }
        loop {
            for effect in std::mem::take(&mut self.storing.effects) {
                self.perform_store_effect(driver, effect);
            }
            // What they read ended polls, or ends them: others may read then.
            let led = self.storing.effects.is_empty() && self.lead_waiting_polls();
            if !led && self.storing.effects.is_empty() {
                break;
            }
        }
    }

    fn perform_store_effect(&mut self, driver: &mut E::Driver, effect: store::Effect) {
        match effect {
            store::Effect::Run { lane, plan } => self.storing.shell.start(driver, lane, plan),
            store::Effect::List { lane, directory } => {
                // This blocks the shard. Only a group with damage needs it, once.
                let files = list_files(&self.environment, &directory);
                let event = store::Event::Named { lane, files };
                self.storing.store.step(event, self.instant, &mut self.storing.effects);
            }
            store::Effect::Fenced { group, fences } => {
                self.outgoing.push_back(Outgoing::Fenced { group, fences });
            }
            store::Effect::Synced { group, .. } => {
                self.changed.insert(group);
                self.segments_follow(group);
            }
            store::Effect::Truncated { group } => drop(self.changed.insert(group)),
            store::Effect::Sealed { group } => self.segments_changed(group),
            store::Effect::StateWritten { group, op } => self.segments_synced(group, op),
            store::Effect::GivenUp { group } => self.state_given_up(group),
            store::Effect::Opened { group, .. } => {
                self.changed.insert(group);
                self.segments_follow(group);
                self.retention_opened(group);
                self.adoptions_opened(group);
            }
            store::Effect::Damaged { group, damage } => {
                self.retention_damaged(group);
                self.fail(Fatal::Segments(damage));
            }
            store::Effect::Read { group, entry, offset, bytes } => {
                self.piece_read(group, &entry, offset, bytes.as_ref());
            }
            store::Effect::Fetched { asker, fetched, .. } if Exports::asks(asker) => {
                self.export_located(asker, &fetched);
            }
            store::Effect::Fetched { asker, fetched, .. } => self.poll_fetched(asker, fetched),
            store::Effect::Cut { group, asker, result } => self.cut_ended(group, asker, result),
            store::Effect::Staged { group, result } => self.staged(group, result),
            store::Effect::Swapped { group, op, replaced } => self.swapped(group, Op(op), replaced.is_some()),
            store::Effect::Fatal(fault) => {
                let file = fault.path.display().to_string();
                self.fail(Fatal::Write { file, error: fault.error });
            }
            store::Effect::Removed { group } => {
                self.ending.remove(&group);
                // The journal keeps the end of the group until a manifest does.
                self.checkpoint.dirty = true;
                self.polls.cache.forget(group);
                self.outgoing.push_back(Outgoing::Removed { group });
            }
            store::Effect::Pressure { .. } => self.counts.put_off += 1,
            store::Effect::RemovalFailed { group, fault } => {
                self.outgoing.push_back(Outgoing::RemovalFailed { group, error: fault.error });
            }
        }
    }

    /// Opens what a group has on the disk, at its first use after a start, and holds it against what the manifest vouches for.
    pub(crate) fn open_segments(&mut self, id: u64) {
        let Some(group) = self.groups.get_mut(&id) else { return };
        if std::mem::take(&mut group.fresh) {
            self.storing.store.begin(id);
        } else if let Some(vouched) = group.vouched.take() {
            self.storing.store.open(id, Some(vouched), &mut self.storing.effects);
        }
    }

    /// The segments of a group have come further: a batch that is on the disk was the last one up to the operations behind
    /// it, too, and a group that was opened may hold everything.
    fn segments_follow(&mut self, group: u64) {
        // A state of the metadata is no batch; it has a word of its own.
        if group != METADATA {
            let synced = self.storing.store.synced(group);
            self.segments_synced(group, synced);
            self.transfer_follows(group);
            self.exports_follow(group);
        }
    }
}
