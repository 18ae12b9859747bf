use ng_wire::batch::{BatchRefusal, stamp, verify};
use ng_wire::replica::{LogOperation, PartitionOp};
use thiserror::Error;

use crate::partition::Partition;
use crate::plant::{Plant, Planted};
use crate::state::{PartitionLimits, PartitionState};

/// Why a primary does not take a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum StampRefusal {
    /// It is no batch, or it holds no messages.
    #[error(transparent)]
    Malformed(#[from] BatchRefusal),
    /// It is too long.
    #[error("a batch of {bytes} bytes where {max} are allowed")]
    TooLarge {
        /// How long it is.
        bytes: usize,
        /// How long it may be.
        max: u32,
    },
    /// Its messages are not numbered 0, 1, 2 and so on.
    #[error("the messages of a batch are not numbered one by one")]
    Numbers,
    /// The partition takes no messages, or will not by the time that this batch is executed.
    #[error("the partition takes no messages")]
    Fenced,
}

/// Where a batch will stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamped {
    /// The offset of its first message.
    pub base_offset: u64,
    /// The offset of its last message.
    pub last_offset: u64,
    /// When it was appended.
    pub base_timestamp: u64,
}

/// Gives batches their offsets and times while this replica leads.
///
/// It foresees what its partition will be once everything prepared is executed. So it begins only when
/// nothing is left of earlier views, hears of every operation that is prepared, and ends with the view. A
/// batch that was stamped and then not prepared leaves a gap.
#[derive(Clone, Debug)]
pub struct Stamper {
    limits: PartitionLimits,
    next_offset: u64,
    skipped_to: u64,
    last_timestamp: u64,
    purge_generation: u64,
    fenced: bool,
    planted: Planted,
}

impl Stamper {
    /// Begins behind what was executed, which must be everything that the log holds.
    #[must_use]
    pub const fn begin(partition: &Partition) -> Self {
        let PartitionState { last_timestamp, purge_generation, fenced, skipped_to, .. } = *partition.state();
        let next_offset = partition.state().next_to_give();
        let (limits, planted) = (*partition.limits(), partition.planted());
        Self { limits, next_offset, skipped_to, last_timestamp, purge_generation, fenced, planted }
    }

    /// The number that clients know the partition by, which batches are stamped with from now on.
    pub const fn set_partition_index(&mut self, index: u32) {
        self.limits.index = index;
    }

    /// Verifies a batch of a producer, which hashes its payload, and stamps it. A refused one stays as it
    /// was.
    pub fn stamp(&mut self, batch: &mut [u8], now: u64) -> Result<Stamped, StampRefusal> {
        if self.fenced {
            return Err(StampRefusal::Fenced);
        }
        let (bytes, max) = (batch.len(), self.limits.batch_bytes_max);
        if bytes > max as usize {
            return Err(StampRefusal::TooLarge { bytes, max });
        }
        let came = verify(batch)?;
        let last_delta = came.last_offset - came.header.base_offset;
        if last_delta + 1 != u64::from(came.messages) {
            return Err(StampRefusal::Numbers);
        }
        let base_offset = self.next_offset;
        let last_offset = base_offset.checked_add(last_delta).filter(|last| *last < u64::MAX);
        let last_offset = last_offset.ok_or(BatchRefusal::Offsets(base_offset))?;
        let base_timestamp = self.last_timestamp.max(now);
        stamp(batch, self.limits.index.into(), base_offset, base_timestamp)?;
        self.last_timestamp = base_timestamp;
        if !self.planted.has(Plant::ReuseOffset) {
            self.next_offset = last_offset + 1;
        }
        Ok(Stamped { base_offset, last_offset, base_timestamp })
    }

    /// An operation other than a batch was prepared: the batches behind it stand in what it will have made.
    pub fn follow(&mut self, operation: LogOperation, body: &[u8]) {
        match PartitionOp::decode(operation, body) {
            Some(Ok(PartitionOp::Purge { generation })) if generation > self.purge_generation => {
                (self.purge_generation, self.next_offset) = (generation, self.skipped_to);
            }
            Some(Ok(PartitionOp::Fence { on })) => self.fenced = on,
            _ => {}
        }
    }
}
