//! Segments read as columns, against a reader that goes message by message; cut, flipped, in pieces, rewritten.

#![allow(missing_docs)]
#![allow(clippy::panic, reason = "a test fails by panicking, whichever function finds the fault")]

mod compacting;
mod corpus;
mod damage;
mod rewriting;
mod rows;
mod seeking;
mod segment;
mod slicing;
