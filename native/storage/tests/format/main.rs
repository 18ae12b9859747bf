//! The codecs against FORMAT.md: golden files, round trips, damage.

#![allow(missing_docs)]
#![allow(clippy::panic, reason = "a test fails by panicking, whichever function finds the fault")]

mod body_check;
mod damage;
mod golden;
mod round_trips;
mod superblock;
mod values;
