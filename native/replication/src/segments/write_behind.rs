//! Write-behind of committed batches to segments. The journal is their durable copy until then.

use ng_io::{Completion, Environment};
use ng_partition::{Applied, Effect as Change};
use ng_storage::store::{self, CommittedBatch};
use ng_wire::replica::Op;

use crate::group::{Body, GroupFiles};
use crate::host::ShardLog;
use crate::machine::MetadataMachine;
use crate::outbox::{Fatal, Outgoing};
use crate::owner::METADATA;
use crate::poll::cache::Piece;
use crate::transfer::send::Exports;

impl<E: Environment, M: MetadataMachine> ShardLog<E, M> {
    /// A partition changed; its segments follow.
    pub(crate) fn follow_change(&mut self, id: u64, op: Op, generation: u64, applied: &Applied, body: &Body) {
        self.open_segments(id);
        self.offsets_follow(id, op, applied, body);
        self.segments.note_change(id);
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
                let now = self.clock.instant();
                self.segments.order(|store, effects| store.append(id, committed, now, effects));
                self.messages_came(id);
                let piece = Piece::executed(body.clone(), batch.header.base_offset, batch.last_offset);
                self.polls.cache.keep(id, generation, piece);
            }
            Applied::Done(Change::Purge { generation }) => {
                self.segments.order(|store, effects| store.purge(id, *generation, op.0, effects));
                self.polls.cache.forget(id);
            }
            Applied::Done(Change::TruncatePrefix { first_offset }) => {
                self.segments.order(|store, effects| {
                    store.truncate_prefix(id, generation, *first_offset, effects);
                });
                self.segments_changed(id);
            }
            _ => {}
        }
    }

    /// Takes the completion of a step of the store.
    pub(crate) fn stored(&mut self, driver: &mut E::Driver, completion: Completion) {
        if self.segments.complete(driver, completion, self.clock.instant()) {
            self.forget_replaced();
        }
    }

    /// Starts the work that the store requests, and handles its results.
    pub(crate) fn perform_store(&mut self, driver: &mut E::Driver) {
        self.segments.tend(self.clock.instant());
        for buffer in self.polls.cache.released() {
            self.segments.recycle(buffer);
        }
        loop {
            for effect in self.segments.take_effects() {
                self.perform_store_effect(driver, effect);
            }
            // Reads that ended have ended polls and freed memory, so waiting polls may read now.
            let led = self.segments.is_performed() && self.lead_waiting_polls();
            if !led && self.segments.is_performed() {
                break;
            }
        }
    }

    fn perform_store_effect(&mut self, driver: &mut E::Driver, effect: store::Effect) {
        match effect {
            store::Effect::Run { lane, plan } => self.segments.start(driver, lane, plan),
            store::Effect::List { lane, directory } => {
                self.segments.list(lane, &directory, self.clock.instant());
            }
            store::Effect::Fenced { group, fences } => {
                self.outbox.push(Outgoing::Fenced { group, fences });
            }
            store::Effect::Synced { group, .. } => {
                self.segments.note_change(group);
                self.segments_follow(group);
            }
            store::Effect::Truncated { group } => self.segments.note_change(group),
            store::Effect::Sealed { group } => self.segments_changed(group),
            store::Effect::StateWritten { group, op } => self.segments_synced(group, op),
            store::Effect::GivenUp { group } => self.state_given_up(group),
            store::Effect::Opened { group, .. } => {
                self.segments.note_change(group);
                self.segments_follow(group);
                self.retention_opened(group);
                self.adoptions_opened(group);
            }
            store::Effect::Damaged { group, damage } => {
                self.retention_damaged(group);
                self.outbox.fail(Fatal::Segments(damage));
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
                self.outbox.fail(Fatal::Write { file, error: fault.error });
            }
            store::Effect::Removed { group } => {
                self.segments.removed(group);
                // The journal keeps the record of the group's end until a manifest without the group is in
                // force.
                self.checkpoint.dirty = true;
                self.polls.cache.forget(group);
                self.outbox.push(Outgoing::Removed { group });
            }
            store::Effect::Pressure { .. } => self.outbox.counts.put_off += 1,
            store::Effect::RemovalFailed { group, fault } => {
                self.outbox.push(Outgoing::RemovalFailed { group, error: fault.error });
            }
        }
    }

    /// Opens the segments of a group at its first use after a start, and compares them with the manifest.
    pub(crate) fn open_segments(&mut self, id: u64) {
        let Some(group) = self.groups.get_mut(&id) else { return };
        self.segments.order(|store, effects| match std::mem::take(&mut group.files) {
            GroupFiles::Opened => {}
            GroupFiles::Fresh => store.begin(id),
            GroupFiles::Vouched(vouched) => store.open(id, Some(vouched), effects),
        });
    }

    /// The segments of a group made progress. A synced batch also covers the later operations without
    /// batches, and a group that was just opened may already contain everything.
    fn segments_follow(&mut self, group: u64) {
        // The state of the metadata is no batch; [`store::Effect::StateWritten`] reports it.
        if group != METADATA {
            let synced = self.segments.core().synced(group);
            self.segments_synced(group, synced);
            self.transfer_follows(group);
            self.exports_follow(group);
        }
    }
}
