//! The journal on the simulated disk: what was acknowledged is there after any crash, and damage is never absence.

#![allow(missing_docs)]
#![allow(clippy::panic, reason = "a test fails by panicking, whichever function finds the fault")]

mod batches;
mod crashes;
mod damage;
mod end;
mod ended;
mod files;
mod in_place;
mod model;
mod overlap;
mod pressure;
mod reclaim_damage;
mod rig;
