//! A data directory on a disk that loses power at any moment: founding it, opening it, putting manifests in force.

#![allow(missing_docs)]
#![allow(clippy::panic, reason = "a test fails by panicking, whichever function finds the fault")]

mod damage;
mod emptying;
mod founding;
mod manifests;
mod mortal;
mod real;
mod resharding;
mod rig;
#[path = "../store/rig.rs"]
#[allow(dead_code, reason = "the tests of the store use all of it")]
mod store_rig;
mod superblocks;
mod sweeping;
