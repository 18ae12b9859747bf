//! Figures of a shard's partitions, disk and memory, for metrics and replies.

use ng_io::{Environment, IoError};
use ng_storage::journal::shell::Measured;
use ng_storage::store::GroupFigures;

use crate::host::ShardLog;
use crate::machine::{Machine, MetadataMachine};

/// Figures of one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartitionFigures {
    /// Number of segments, at least one.
    pub segments: usize,
    /// Bytes of stored batches.
    pub bytes: u64,
    /// Number of messages.
    pub messages: u64,
    /// Offset of the last message; 0 if there is none.
    pub current_offset: u64,
}

/// Figures of a shard's disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskFigures {
    /// Open groups.
    pub groups: usize,
    /// Bytes of batches that no segment contains yet.
    pub unflushed_bytes: usize,
    /// Groups whose segments wait for space.
    pub waits_for_space: usize,
    /// Groups with files that could not be removed.
    pub waits_for_removals: usize,
    /// Files of the journal.
    pub journal_files: u32,
    /// Bytes of each journal file.
    pub journal_file_bytes: u64,
    /// Error of the last attempt to make a further file, while the journal cannot continue without it.
    pub journal_lack: Option<IoError>,
    /// Bytes of live records in the journal, and their maximum.
    pub journal_live_bytes: (u64, u64),
}

/// Bytes of memory that a log holds, by purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryFigures {
    /// Batches cached for later polls.
    pub poll_cache: usize,
    /// Bytes read for polls in progress.
    pub poll_reads: usize,
    /// Batches that no segment contains yet.
    pub unflushed: usize,
    /// Spare buffers.
    pub spares: usize,
}

impl<E: Environment, M: MetadataMachine> ShardLog<E, M> {
    /// Figures of a partition; `None` if this shard does not have it, or its segments are not open. In the
    /// second case they are opened now, and [`ShardLog::changed_figures`] then returns the partition.
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

    /// Figures of the disk.
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

    /// Figures of the memory.
    #[must_use]
    pub const fn memory_figures(&self) -> MemoryFigures {
        MemoryFigures {
            poll_cache: self.polls.cache.bytes(),
            poll_reads: self.polls.bytes(),
            unflushed: self.segments.core().buffered_bytes(),
            spares: self.segments.spare_bytes(),
        }
    }

    /// Frees memory without use for a minute. The caller calls it every ten seconds. Returns the number of
    /// bytes freed.
    pub fn age_memory(&mut self) -> usize {
        self.polls.cache.age() + self.segments.age_spares()
    }

    /// Sets the maximum bytes of spare buffers.
    pub fn set_spare_bytes_max(&mut self, bytes_max: usize) {
        self.segments.set_spare_bytes_max(bytes_max);
    }

    /// Sizes of journal blocks and durations of their syncs.
    #[must_use]
    pub const fn journal_measured(&self) -> &Measured {
        self.journal.measured()
    }

    /// Returns up to `max` partitions with changed figures, each once.
    pub fn changed_figures(&mut self, max: usize) -> Vec<(u64, PartitionFigures)> {
        let mut changed = Vec::new();
        while changed.len() < max
            && let Some(group) = self.segments.next_changed()
        {
            changed.extend(self.figures(group).map(|figures| (group, figures)));
        }
        changed
    }

    /// The partition has had no message in this generation, according to manifest and segments.
    pub(crate) fn is_untouched(&self, id: u64) -> bool {
        let Some(group) = self.groups.get(&id) else { return false };
        let empty = group.files.vouched().is_none_or(|vouched| vouched.last().is_none());
        empty && matches!(group.machine, Machine::Partition(..)) && !self.segments.core().has(id)
    }
}
