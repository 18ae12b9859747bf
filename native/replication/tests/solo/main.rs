//! A standalone node on a simulated machine. Polls of a partition: from memory, from segments, across their
//! moving boundary, and around damage. Partitions that begin and end while the node runs, over crashes.

#![allow(missing_docs)]
#![allow(clippy::panic, reason = "a test fails by panicking, whichever function finds the fault")]

mod adoption;
mod bounds;
mod cache;
#[path = "../../../storage/tests/store/compaction.rs"]
mod compaction;
mod company;
mod damage;
mod figures;
#[cfg(debug_assertions)]
mod hashing;
mod life;
mod model;
mod offsets;
mod races;
mod retention;
mod rig;
mod space;
mod strategies;
