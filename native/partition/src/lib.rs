//! One partition as a value: what its log says goes in, what became of it comes out.
//!
//! [`Partition::apply`] executes one committed operation after the other, the same on every replica: no
//! clock, no randomness, no I/O, and a result for every body, whatever its bytes. [`Stamper`] is what a
//! primary has besides: it gives batches their offsets before they stand in the log, beyond those that are
//! prepared and not yet executed.
//!
//! The messages themselves are not here. The value knows where they end; its shell writes them into segments.

#![forbid(unsafe_code)]

mod applied;
pub mod fetch;
mod gaps;
mod offsets;
mod offsets_ahead;
mod partition;
mod plant;
mod stamper;
mod state;

pub use applied::{Applied, Effect};
pub use gaps::Gaps;
pub use offsets_ahead::OffsetsAhead;
pub use partition::Partition;
#[cfg(any(test, feature = "plants"))]
pub use plant::Plant;
pub use stamper::{StampRefusal, Stamped, Stamper};
pub use state::{PartitionLimits, PartitionState};
