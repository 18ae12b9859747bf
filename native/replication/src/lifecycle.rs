//! Groups that begin and end while the shard runs.

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
    /// Begins the log of a new partition. It accepts requests at once, but their answers wait until the
    /// record of its opening is synced. An open group is not changed.
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

    /// Ends a partition permanently: its log at once, its files once the record of its end is synced.
    /// [`Outgoing::Removed`] reports that the files are deleted. Unanswered requests get an uncertain answer,
    /// because they may have been executed.
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

    /// Sets the index of a partition in its topic, which its batches contain. Only the rows of the metadata
    /// know it.
    pub fn set_partition_index(&mut self, group: u64, index: u32) {
        if let Some(group) = self.groups.get_mut(&group) {
            group.index = Some(index);
        }
    }

    /// The group is open here.
    #[must_use]
    pub fn has(&self, group: u64) -> bool {
        self.groups.contains_key(&group)
    }

    /// The group is past recovery: it accepts requests here, or follows a primary.
    #[must_use]
    pub fn is_settled(&self, group: u64) -> bool {
        let Some(group) = self.groups.get(&group) else { return false };
        let replica = &group.replica;
        // A new primary knows its first offset when all inherited operations are executed. A primary that has
        // stamped a batch is past that point; its head is rarely executed, because producers that send
        // without pause always have operations in progress.
        let gives_offsets = matches!(group.machine, Machine::Partition(_, Some(_)));
        replica.status() == Status::Normal
            && (!replica.is_primary() || gives_offsets || replica.commit_min() == replica.head())
    }

    /// Ended groups with remaining files, ascending.
    pub fn ending(&self) -> impl Iterator<Item = u64> + '_ {
        self.segments.ending().iter().copied()
    }

    /// Open partition groups, ascending.
    pub fn partitions(&self) -> impl Iterator<Item = u64> + '_ {
        self.groups.keys().copied().filter(|group| *group != METADATA)
    }
}
