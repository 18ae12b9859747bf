//! The log of a shard: all its groups on one journal, the same code in the daemon and in the simulator.
//!
//! [`ShardLog`] is a value. It is given requests, frames of other nodes and completions of its files, and is turned; it
//! submits operations to a driver and says what leaves ([`Outgoing`]). It owns every group of its shard: the replica
//! ([`ng_vsr::Replica`]), the state machine, and what waits for either. Nothing of it walks all groups, but for the moment
//! at which another node falls silent.

mod adopting;
mod arriving;
mod beating;
mod checkpoint;
mod committing;
mod cutting;
mod effects;
mod figures;
mod gathering;
mod group;
mod held;
mod holding;
mod journaling;
mod keeping;
mod life;
mod machine;
mod opening;
mod outgoing;
pub mod owner;
mod pairs;
mod plant;
mod poll;
mod poll_cache;
mod polling;
mod readers;
mod reading;
mod retention;
mod serving;
mod shard_log;
mod speaking;
mod state;
mod storing;
mod transfer;
mod transfer_head;
mod turned_away;
mod wheel;

pub use adopting::{Adoption, AdoptionEnd};
pub use arriving::LogRequest;
pub use cutting::CutEnd;
pub use figures::{DiskFigures, PartitionFigures};
pub use group::{Body, Ticket};
pub use keeping::Keeping;
pub use machine::{Executed, MetadataMachine};
pub use opening::{FIRST_EPOCH, GroupLimits, LogParts, LogRefusal};
pub use outgoing::{Fatal, LogAnswer, Outgoing};
#[cfg(feature = "plants")]
pub use plant::Plant;
pub use poll::{Consumer, Poll, PollPart, PollRefusal, PollStrategy, Polled};
pub use polling::PollLimits;
pub use readers::OffsetHold;
pub use retention::RetentionLimits;
pub use shard_log::{GroupStatus, LogCounts, LogIdentity, ShardLog};
