//! What the partitions of a shard hold, for those who show it.

use ng_io::{Environment, IoError};
use ng_storage::journal::shell::Measured;
use ng_storage::store::GroupFigures;

use crate::host::ShardLog;
use crate::machine::{Machine, MetadataMachine};

/// What a partition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartitionFigures {
    /// How many segments; one at least.
    pub segments: usize,
    /// Bytes of stored batches.
    pub bytes: u64,
    /// Messages.
    pub messages: u64,
    /// The offset of the last message, 0 if there is none.
    pub current_offset: u64,
}

/// How a shard stands with its disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskFigures {
    /// Groups that are open.
    pub groups: usize,
    /// Bytes of batches that are in no segment yet.
    pub unflushed_bytes: usize,
    /// Groups whose segments wait for space.
    pub waits_for_space: usize,
    /// Groups of which files could not be removed.
    pub waits_for_removals: usize,
    /// Files of the journal.
    pub journal_files: u32,
    /// Bytes of each.
    pub journal_file_bytes: u64,
    /// Why a further file could not be made without which the journal cannot go on.
    pub journal_lack: Option<IoError>,
    /// Bytes in the journal that count, and how many there may be.
    pub journal_live_bytes: (u64, u64),
}

/// Memory that a log holds, by what for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryFigures {
    /// Batches kept for the polls to come.
    pub poll_cache: usize,
    /// What polls under way have read.
    pub poll_reads: usize,
    /// Batches that are in no segment yet.
    pub unflushed: usize,
    /// Spare buffers.
    pub spares: usize,
}

impl<E: Environment, M: MetadataMachine> ShardLog<E, M> {
    /// What a partition holds; `None` if this shard has no such partition, or does not know yet. Then it
    /// looks, and says so by [`ShardLog::changed_figures`].
    pub fn figures(&mut self, group: u64) -> Option<PartitionFigures> {
        let current_offset = self.partition(group)?.last_offset.unwrap_or(0);
        let GroupFigures { segments, bytes, messages } = match self.segments.core().figures(group) {
            Some(figures) => figures,
            None if self.is_untouched(group) => GroupFigures { segments: 1, bytes: 0, messages: 0 },
            None => {
                self.open_segments(group);
                return None;
            }
        };
        Some(PartitionFigures { segments, bytes, messages, current_offset })
    }

    /// How the shard stands with its disk.
    #[must_use]
    pub fn disk_figures(&self) -> DiskFigures {
        DiskFigures {
            groups: self.groups.len(),
            unflushed_bytes: self.segments.core().buffered_bytes(),
            waits_for_space: self.segments.core().waits_for_space(),
            waits_for_removals: self.segments.core().waits_for_removals(),
            journal_files: self.journal.core().files(),
            journal_file_bytes: self.journal.core().file_bytes(),
            journal_lack: self.journal.core().lack(),
            journal_live_bytes: self.journal.core().live_bytes(),
        }
    }

    /// What the log holds in memory.
    #[must_use]
    pub const fn memory_figures(&self) -> MemoryFigures {
        MemoryFigures {
            poll_cache: self.polls.cache.bytes(),
            poll_reads: self.polls.bytes(),
            unflushed: self.segments.core().buffered_bytes(),
            spares: self.segments.spare_bytes(),
        }
    }

    /// Frees what no poll and no write has used for a minute; to be called every ten seconds. Returns how
    /// many bytes that were.
    pub fn age_memory(&mut self) -> usize {
        self.polls.cache.age() + self.segments.age_spares()
    }

    /// Keeps at most so many bytes of spare buffers from now on.
    pub fn set_spare_bytes_max(&mut self, bytes_max: usize) {
        self.segments.set_spare_bytes_max(bytes_max);
    }

    /// How large the blocks of the journal were, and how long their syncs took.
    #[must_use]
    pub const fn journal_measured(&self) -> &Measured {
        self.journal.measured()
    }

    /// At most so many of the partitions of which the figures are others than they were; each once.
    pub fn changed_figures(&mut self, max: usize) -> Vec<(u64, PartitionFigures)> {
        let mut changed = Vec::new();
        while changed.len() < max
            && let Some(group) = self.segments.next_changed()
        {
            changed.extend(self.figures(group).map(|figures| (group, figures)));
        }
        changed
    }

    /// Whether a partition has never had a message in this generation, as far as anybody says.
    pub(crate) fn is_untouched(&self, id: u64) -> bool {
        let Some(group) = self.groups.get(&id) else { return false };
        let empty = group.files.vouched().is_none_or(|vouched| vouched.last().is_none());
        empty && matches!(group.machine, Machine::Partition(..)) && !self.segments.core().has(id)
    }
}
