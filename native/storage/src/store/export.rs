//! What another replica may read of a group: its segments as they are on the disk.

use std::path::PathBuf;

use super::group::{Group, Order, Phase, Running};
use crate::segments_file::SegmentEntry;

/// The files of a group as far as they are synced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportPlan {
    /// The purge generation.
    pub generation: u64,
    /// The last offset.
    pub last_offset: Option<u64>,
    /// In order; only the last may be unsealed.
    pub files: Vec<ExportedFile>,
}

/// One file of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportedFile {
    /// Where it is. It may be removed while it is read: then there is a new plan to be made.
    pub path: PathBuf,
    /// What SEGMENTS says of it.
    pub entry: SegmentEntry,
    /// Bytes of its batches.
    pub bytes: u64,
}

impl Group {
    /// What there is to read. Batches that come behind it meanwhile do no harm to it.
    pub(super) fn export(&self) -> Option<ExportPlan> {
        let bytes = |entry: &SegmentEntry| match &self.tail {
            Some(tail) if !entry.is_sealed() => tail.bytes,
            _ => entry.bytes,
        };
        let file = |entry: &SegmentEntry| ExportedFile {
            path: self.home.segment(entry),
            entry: *entry,
            bytes: bytes(entry),
        };
        let grows_only = self.running.as_ref().is_none_or(|running| {
            matches!(
                running,
                Running::Appending { .. }
                    | Running::Sealing { .. }
                    | Running::Reading { .. }
                    | Running::WritingIndex
                    | Running::Cutting { .. }
            )
        });
        let harmless = |order: &Order| matches!(order, Order::Read { .. } | Order::WriteIndex { .. });
        let steady = grows_only && self.orders.iter().all(harmless);
        (self.phase == Phase::Open && steady).then(|| ExportPlan {
            generation: self.generation,
            last_offset: self.last_offset(),
            files: self.listed.segments.iter().map(file).collect(),
        })
    }

    /// The first offset of the present generation that is neither on the disk nor was there.
    pub(super) fn lacks_from(&self) -> u64 {
        if self.is_purging() { 0 } else { self.last_offset().map_or(0, |last| last + 1) }
    }

    /// Whether all messages of a purge generation up to an offset are on the disk.
    pub(super) fn holds(&self, generation: u64, last_offset: Option<u64>) -> bool {
        let same = self.generation == generation && !self.is_purging();
        self.phase == Phase::Open && same && self.last_offset() >= last_offset
    }
}
