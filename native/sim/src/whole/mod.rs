//! Worlds of one whole node: every shard of its process, Python behind them, and clients that speak their protocol.
//!
//! The shards are those of the daemon, from the acceptor to the journal, turned by a scheduler on one thread
//! ([`ng_shard::unthreaded`]). Python is a stand-in that answers the same records ([`python`]). Clients connect,
//! send bytes, read bytes and are cut off ([`client`]); what they were told is held against all that follows ([`asked`],
//! [`model`]), and in the end everything is read back, before and after an orderly stop ([`audit`]).

mod asked;
mod audit;
mod client;
mod damage;
mod faults;
mod front;
mod gaps;
mod job;
mod leases;
mod load;
mod metadata;
mod model;
mod polled;
mod process;
mod python;
mod reach;
mod reconciler;
mod reply;
mod request;
mod sizes;
mod stored;
mod topic_limits;
mod wall_clock;
mod world;

pub use reach::{Reach, Reached};

pub(crate) use world::WholeWorld;
