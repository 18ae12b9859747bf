//! The segments of some groups on a disk that loses power at any moment, is full at times, and rots.

#![allow(missing_docs)]
#![allow(clippy::panic, reason = "a test fails by panicking, whichever function finds the fault")]

mod compaction;
mod crashes;
mod cutting;
mod damage;
mod expected;
mod fences;
mod fetching;
mod gathering;
mod kills;
#[path = "../directory/mortal.rs"]
mod mortal;
mod pressure;
mod real;
mod rig;
mod space;
mod swapping;
mod transfer;
mod truncation;
