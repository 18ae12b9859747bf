use std::collections::BTreeMap;

use ng_wire::replica::ConsumerKind;

use crate::gaps::Gaps;

/// What a partition is told when it is opened, the same on every replica and in every life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartitionLimits {
    /// Which partition of its topic it is: stamped into its batches.
    pub index: u32,
    /// The longest batch that a primary takes.
    pub batch_bytes_max: u32,
    /// How many stored offsets it keeps.
    pub consumer_offsets_max: u32,
}

impl Default for PartitionLimits {
    fn default() -> Self {
        Self { index: 0, batch_bytes_max: 64 << 20, consumer_offsets_max: 65_536 }
    }
}

/// Everything that the log of a partition has made of it, but for the messages: what a manifest keeps, and
/// what one replica hands to another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartitionState {
    /// The group of the partition.
    pub group: u64,
    /// The last operation in this state.
    pub applied_op: u64,
    /// The offset of the last message of this generation.
    pub last_offset: Option<u64>,
    /// The first offset that was not truncated.
    pub first_offset: u64,
    /// When the youngest batch was appended: no later one is stamped with less.
    pub last_timestamp: u64,
    /// How often it was purged, as the metadata count it.
    pub purge_generation: u64,
    /// Whether it takes no messages.
    pub fenced: bool,
    /// Offsets below it are given to no further message, in no generation: an operator has accepted that
    /// acknowledged ones are lost. Else 0.
    pub skipped_to: u64,
    /// Offsets of this generation that were given to no message.
    pub gaps: Gaps,
    /// Stored offsets.
    pub offsets: BTreeMap<(ConsumerKind, u64), u64>,
}

impl PartitionState {
    /// The least offset that is given to the next message.
    #[must_use]
    pub const fn next_to_give(&self) -> u64 {
        let next = self.next_offset();
        if next < self.skipped_to { self.skipped_to } else { next }
    }

    /// The least offset that the next message may have; there may be gaps before it.
    #[must_use]
    pub const fn next_offset(&self) -> u64 {
        match self.last_offset {
            Some(last) => last.saturating_add(1),
            None => 0,
        }
    }
}
