//! Partition groups that begin and end while the shard works.

use ng_io::Environment;
use ng_storage::record::{RecordHeader, RecordKind};
use ng_vsr::Status;

use crate::durability::journal::Waits;
use crate::durability::recovery::{Birth, FIRST_EPOCH, LogRefusal, Sources};
use crate::group::{Body, GroupFiles};
use crate::host::ShardLog;
use crate::machine::{Machine, MetadataMachine};
use crate::outbox::{LogAnswer, Outgoing};
use crate::owner::METADATA;

impl<E: Environment, M: MetadataMachine> ShardLog<E, M> {
    /// Begins the log of a partition that never had one. It takes requests at once: what they are answered
    /// waits for the record that says that the group is here. One that is open already stays as it is.
    pub fn open(&mut self, group: u64) -> Result<(), LogRefusal> {
        if self.groups.contains_key(&group) {
            return Ok(());
        }
        let birth = Birth { founding: true, nonce: self.life.nonce, offsets_skipped: 0 };
        self.open_group(group, FIRST_EPOCH, &birth, &Sources::NOTHING)?;
        if let Some(group) = self.groups.get_mut(&group) {
            group.files = GroupFiles::Fresh;
        }
        Ok(())
    }

    /// Ends a partition for ever: its log at once, its files once the record that says so is synced, which
    /// [`Outgoing::Removed`] tells. What was asked of it and is not answered may have been done or not.
    pub fn remove(&mut self, group: u64) {
        if group == METADATA {
            return;
        }
        if let Some(mut ended) = self.groups.remove(&group) {
            for ticket in ended.take_all_waiting() {
                self.outbox.push(Outgoing::Answer { ticket, answer: LogAnswer::Uncertain });
            }
            self.offsets.forget(group);
            self.keep_nothing(group);
            self.forget_adoptions(group);
        }
        self.checkpoint.end(group, self.life.planted);
        self.checkpoint.dirty = true;
        self.segments.end(group);
        let header = RecordHeader { epoch: FIRST_EPOCH, ..RecordHeader::of(RecordKind::Close, group, &[]) };
        match self.journal.append(header, Body::default()) {
            Ok(closed) => {
                if let Some(waits) = self.journal.hold(closed.block, 0, Waits::Removal { group }) {
                    self.dispatch(waits);
                }
            }
            Err(refused) => self.refused(group, RecordKind::Close, refused),
        }
    }

    /// The number that clients know a partition by: the rows of the metadata have it, and batches are stamped
    /// with it.
    pub fn set_partition_index(&mut self, group: u64, index: u32) {
        if let Some(group) = self.groups.get_mut(&group) {
            group.index = Some(index);
        }
    }

    /// Whether a group is open here.
    #[must_use]
    pub fn has(&self, group: u64) -> bool {
        self.groups.contains_key(&group)
    }

    /// Whether a group is past its beginning: it takes requests here, or follows who does.
    #[must_use]
    pub fn is_settled(&self, group: u64) -> bool {
        let Some(group) = self.groups.get(&group) else { return false };
        let replica = &group.replica;
        // The first offset that is to be given is known when everything inherited is executed. Whoever has
        // given one knew it then: where messages come without pause, some are always under way.
        let gives_offsets = matches!(group.machine, Machine::Partition(_, Some(_)));
        replica.status() == Status::Normal
            && (!replica.is_primary() || gives_offsets || replica.commit_min() == replica.head())
    }

    /// The groups that have ended and whose files are not gone yet, ascending.
    pub fn ending(&self) -> impl Iterator<Item = u64> + '_ {
        self.segments.ending().iter().copied()
    }

    /// The groups of partitions that are open here, ascending.
    pub fn partitions(&self) -> impl Iterator<Item = u64> + '_ {
        self.groups.keys().copied().filter(|group| *group != METADATA)
    }
}
