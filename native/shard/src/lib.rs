//! The shards of a node: one pinned thread each, connected by mailboxes and watched by a supervisor.
//!
//! A shard is a value ([`turn::Shard`]) whose `turn(now)` handles everything that happened since the last
//! turn and never waits; [`thread`] calls it until the node stops. No code here knows the operating system,
//! because all I/O is behind [`ng_io::Environment`]; so a simulation can run whole shards.

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
