//! Viewstamped Replication for one group, as a value: events and the time go in, effects come out.
//!
//! One door, [`Replica::step`], and one clock, the caller's. No I/O, no randomness, no order of a hash map:
//! the same events give the same effects. A single node is a replica set of one and takes the same path.
//!
//! What a shell owes a replica:
//! - effects in their order; a message only once everything up to its [`Position`] is synced, to itself too;
//! - the body of an operation, kept from the event that brought it until its record is in the journal;
//! - each [`Effect::Apply`] executed once and reported, in order; [`Event::Tick`] at [`Replica::deadline`];
//! - [`Replica::beat`] of the groups it leads in the beats of its node, soon after it changes; of the beats of others
//!   each entry as a [`Commit`](ng_wire::replica::Commit), and [`Event::PrimarySilent`] once the node of the
//!   [awaited primary](Replica::awaited_primary) is silent for [`Timing::suspicion`] or lives another life;
//! - after a restart every record of the group in journal order through [`Recovery`], and a fresh nonce;
//! - an end to the process when a write or a sync fails.

#![forbid(unsafe_code)]

mod absent;
mod client_table;
mod commit;
mod effect;
mod event;
mod merge;
mod normal;
mod plant;
mod quorum;
mod recovery;
mod repair;
mod replica;
mod setup;
mod state_transfer;
mod suspicion;
#[cfg(test)]
mod tests;
mod timers;
mod view_change;
mod window;

pub use client_table::{CachedReply, ClientTable, Lookup, TableRefusal};
pub use effect::{Answer, Drop, Effect, Effects, Position, Record, ViewRecord};
pub use event::{Event, Request};
#[cfg(any(test, feature = "plants"))]
pub use plant::Plant;
pub use quorum::{Quorums, REPLICAS_MAX};
pub use recovery::{Recovered, Recovery};
pub use replica::{Directory, Replica, Status};
pub use setup::{ClientLimits, Limits, Setup, Ticks, Timing, UnsoundSetup};
