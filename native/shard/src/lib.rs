//! The shards of a node: one pinned thread each, joined by mailboxes, watched by a supervisor.
//!
//! A shard is a value ([`turn::Shard`]) whose `turn(now)` takes what happened since the last one and never waits;
//! [`thread`] turns it until it is told to stop. Nothing here knows which operating system, or which simulation, is
//! underneath: that is the [`ng_io::Environment`].

#![forbid(unsafe_code)]

pub mod adoption;
pub mod crash;
pub mod cutting;
pub mod desk;
pub mod directory;
pub mod doorbell;
pub mod ending;
pub mod enrolment;
pub mod facts;
#[cfg(debug_assertions)]
pub mod fault;
pub mod frame;
pub mod host;
pub mod identity;
pub mod log_pace;
pub mod log_ring;
pub mod log_ticket;
pub mod mailbox;
pub mod memory_parts;
pub mod metadata;
pub mod metrics;
pub mod node;
pub mod pending_builds;
#[cfg(feature = "plants")]
pub mod plant;
pub mod port;
pub mod reconcile;
pub mod record;
pub mod register;
pub mod route;
pub mod routes;
pub mod sessions;
pub mod settings;
pub mod stopping;
pub mod supervisor;
mod sync;
pub mod thread;
pub mod tickets;
pub mod totals;
pub mod trash;
pub mod turn;
pub mod unthreaded;
pub mod watchdog;
