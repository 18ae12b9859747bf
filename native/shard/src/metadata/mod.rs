//! The metadata of a node: Python decides the operations of its log, rows here store the result, and every
//! shard has a mirror of them.
//!
//! Python receives each operation that the metadata group has committed. It decides from its state and never
//! from the clock, and answers with a result and deltas of rows. The rows are the state: a snapshot contains
//! them, a start hands them to Python, and every shard answers reads from its copy.

mod machine;
mod proposal;

pub use machine::{MetadataPlane, Misapplied};
pub use proposal::proposal;
