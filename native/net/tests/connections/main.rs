//! The connection table over real sockets, on every available backend, at times that the tests choose.

#![allow(missing_docs)]
#![allow(clippy::panic, reason = "a test fails by panicking, whichever function finds the fault")]

mod admission;
mod framing;
mod limits;
mod table;
