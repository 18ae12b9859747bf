//! The contract of a driver, tried on every backend this machine has.

#![allow(missing_docs)]
#![allow(clippy::panic, reason = "a test fails by panicking, whichever function finds the fault")]

mod closing;
mod counts;
mod disk;
mod names;
mod random;
mod rig;
mod ring;
mod sockets;
mod waking;
