//! The connection table, over real sockets on every backend present, at times the tests choose.

#![allow(missing_docs)]
#![allow(clippy::panic, reason = "a test fails by panicking, whichever function finds the fault")]

mod admission;
mod framing;
mod limits;
mod table;
