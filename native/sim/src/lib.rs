//! Clusters from a seed: the code of the daemon (`wire`, `vsr`, `storage`, `partition`, `shard`) on simulated machines, under
//! faults, watched by judges.
//!
//! A [`plan::Plan`] says what a world is like; [`world::World`] lives it; [`judges`] say what must not happen; [`run`] lives
//! many, and makes one that fails smaller. The same seed is the same world, always.

#![forbid(unsafe_code)]

mod agreement;
pub mod aims;
mod boot;
mod client;
pub mod conditions;
pub mod damage;
mod dropping;
mod faults;
pub mod judges;
mod node;
mod panics;
pub mod plan;
pub mod plants;
pub mod replay;
mod rot;
mod rows;
pub mod run;
pub mod shrink;
mod story;
pub mod summary;
mod vigil;
pub mod whole;
pub mod world;
