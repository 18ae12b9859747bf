use ng_wire::batch::survey;
use ng_wire::replica::{ConsumerKind, LogOperation, OffsetWrites, PartitionOp, RefusedOffset, Rejection};

use crate::applied::{Applied, Effect};
use crate::offsets;
use crate::plant::{Plant, Planted};
use crate::state::{PartitionLimits, PartitionState};

/// One partition, as far as its log was executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    state: PartitionState,
    limits: PartitionLimits,
    planted: Planted,
}

impl Partition {
    /// A partition whose log is empty.
    #[must_use]
    pub fn new(group: u64, limits: PartitionLimits) -> Self {
        Self::restore(PartitionState { group, ..PartitionState::default() }, limits)
    }

    /// A partition that was kept, or came from another replica.
    #[must_use]
    pub fn restore(state: PartitionState, limits: PartitionLimits) -> Self {
        Self { state, limits, planted: Planted::default() }
    }

    /// The same partition, which passes over so many offsets from here: those that lost messages may have had.
    #[must_use]
    pub const fn skipping(mut self, offsets: u64) -> Self {
        if offsets > 0 {
            self.state.skipped_to = self.state.next_to_give().saturating_add(offsets);
        }
        self
    }

    /// The same partition with a bug in it, and in each [`crate::Stamper`] that begins from it.
    #[cfg(any(test, feature = "plants"))]
    #[must_use]
    pub fn with(mut self, bug: Plant) -> Self {
        self.planted.bug = Some(bug);
        self
    }

    /// Everything that was made of the operations executed so far.
    #[must_use]
    pub const fn state(&self) -> &PartitionState {
        &self.state
    }

    /// What it was told when it was opened.
    #[must_use]
    pub const fn limits(&self) -> &PartitionLimits {
        &self.limits
    }

    pub(crate) const fn planted(&self) -> Planted {
        self.planted
    }

    /// Executes the next operation of the log.
    ///
    /// One that was executed before changes nothing: a restart may bring operations that the manifest holds
    /// already. The body is the one that was prepared; the shell verified it when it came in.
    pub fn apply(&mut self, op: u64, operation: LogOperation, body: &[u8]) -> Applied {
        if op <= self.state.applied_op {
            return Applied::AlreadyApplied;
        }
        debug_assert_eq!(op, self.state.applied_op + 1, "operations are executed one by one, in order");
        self.state.applied_op = op;
        let done = match PartitionOp::decode(operation, body) {
            None => Err(Rejection::Unsupported),
            Some(Err(_)) => Err(Rejection::Malformed),
            Some(Ok(operation)) => self.execute(operation),
        };
        done.map_or_else(Applied::Rejected, Applied::Done)
    }

    fn execute(&mut self, operation: PartitionOp<'_>) -> Result<Effect, Rejection> {
        let (state, planted) = (&mut self.state, self.planted);
        Ok(match operation {
            PartitionOp::Noop => Effect::Noop,
            PartitionOp::Batch(batch) => self.append(batch)?,
            PartitionOp::Offsets(writes) => self.store_offsets(writes),
            PartitionOp::Purge { generation } => {
                if generation <= state.purge_generation {
                    return Err(Rejection::StaleGeneration);
                }
                state.purge_generation = generation;
                (state.last_offset, state.first_offset) = (None, 0);
                if !planted.has(Plant::KeepOffsets) {
                    state.offsets.clear();
                }
                state.gaps.clear();
                Effect::Purge { generation }
            }
            PartitionOp::TruncatePrefix { offset } => {
                state.first_offset = state.first_offset.max(offset.min(state.next_offset()));
                state.gaps.forget_before(state.first_offset);
                Effect::TruncatePrefix { first_offset: state.first_offset }
            }
            PartitionOp::DropGroupOffsets { id } => {
                let dropped = state.offsets.remove(&(ConsumerKind::Group, id)).is_some();
                Effect::DropGroupOffsets { dropped }
            }
            PartitionOp::Fence { on } => {
                state.fenced = on;
                Effect::Fence { on }
            }
            PartitionOp::Swap(swap) if swap.generation != state.purge_generation => {
                return Err(Rejection::StaleGeneration);
            }
            PartitionOp::Swap(swap) if swap.first_ends() < state.first_offset => {
                return Err(Rejection::InputGone);
            }
            PartitionOp::Swap(_) => Effect::Swap,
        })
    }

    fn append(&mut self, batch: &[u8]) -> Result<Effect, Rejection> {
        let state = &mut self.state;
        let batch = survey(batch).map_err(|_| Rejection::Malformed)?;
        if state.fenced {
            return Err(Rejection::Fenced);
        }
        if batch.first_offset < state.next_offset() && !self.planted.has(Plant::ReuseOffset) {
            return Err(Rejection::OffsetTaken);
        }
        state.gaps.pass_over(state.next_offset(), batch.first_offset);
        state.last_offset = Some(batch.last_offset);
        state.last_timestamp = state.last_timestamp.max(batch.header.base_timestamp);
        Ok(Effect::Batch(batch))
    }

    fn store_offsets(&mut self, writes: OffsetWrites<'_>) -> Effect {
        let PartitionState { last_offset, offsets, .. } = &mut self.state;
        let max = self.limits.consumer_offsets_max;
        let refused = (0..).zip(writes.iter()).filter_map(|(index, write)| {
            let reason = offsets::write(offsets, write, *last_offset, max).err()?;
            Some(RefusedOffset { index, reason })
        });
        Effect::Offsets { refused: refused.collect() }
    }
}
