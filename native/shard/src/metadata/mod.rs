//! The metadata of a node: what its log says is decided by Python, kept in rows here, and mirrored by every
//! shard.
//!
//! An operation that the metadata group has committed is handed to Python, which reads its state and never
//! the clock, and answers with a result and with changes of rows. The rows are the state: a snapshot is made
//! of them, a start hands them to Python, every shard answers reads from its copy of them.

mod machine;
mod proposal;

pub use machine::{MetadataPlane, Misapplied};
pub use proposal::proposal;
