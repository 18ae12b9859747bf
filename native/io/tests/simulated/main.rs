//! The simulated world: what survives, what tears, what fails, what time is, and that seeds decide all of it.

#![allow(missing_docs)]
#![allow(clippy::panic, reason = "a test fails by panicking, whichever function finds the fault")]

mod disk;
mod model;
mod names;
mod network;
mod rig;
mod streams;
mod watch;
mod world;
