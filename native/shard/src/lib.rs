//! The shards of a node: one pinned thread each, joined by mailboxes, watched by a supervisor.
//!
//! A shard is a value ([`turn::Shard`]) whose `turn(now)` takes what happened since the last one and never
//! waits; [`thread`] turns it until it is told to stop. Nothing here knows which operating system, or which
//! simulation, is underneath: that is the [`ng_io::Environment`].

#![forbid(unsafe_code)]

pub mod crash;
pub mod directory;
pub mod ending;
pub mod metadata;
pub mod node;
pub mod pending_builds;
pub mod port;
pub mod stopping;
pub mod supervisor;
pub mod thread;
pub mod trash;
pub mod turn;
pub mod unthreaded;
pub mod watchdog;
