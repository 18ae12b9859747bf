//! The replicated logs of one shard: all its groups on one journal, the same code in the daemon and in the
//! simulator.
//!
//! Start with [`ShardLog`], a value that is given requests, frames of other nodes and completions of its
//! files, and is turned; it submits operations to a driver and says what leaves ([`Outgoing`]). It owns every
//! group of its shard: the replica ([`ng_vsr::Replica`]), the state machine, and what waits for either.
//! Nothing walks all groups, except at the moment at which another node falls silent.
//!
//! | Folder | Contains |
//! |---|---|
//! | `replicate` | requests, frames and timers into replicas; their effects out |
//! | `durability` | journal, syncs, checkpoints, recovery |
//! | `segments` | write-behind, retention, adoption, cuts |
//! | `poll` | reading for clients |
//! | `transfer` | the state of a group for a node that is too far behind |
//!
//! It may use `ng_vsr`, `ng_partition`, `ng_storage`, `ng_io` and `ng_wire`, and knows no client connection,
//! no session and no row.

#![forbid(unsafe_code)]

mod clock;
mod durability;
mod figures;
mod group;
mod group_state;
mod host;
mod lifecycle;
mod machine;
mod offsets;
mod outbox;
pub mod owner;
mod plant;
mod poll;
mod replicate;
mod segments;
mod transfer;

pub use durability::recovery::{FIRST_EPOCH, GroupLimits, LogParts, LogRefusal};
pub use figures::{DiskFigures, PartitionFigures};
pub use group::{Body, Ticket};
pub use host::{GroupStatus, LogIdentity, ShardLog};
pub use machine::{Executed, MetadataMachine};
pub use outbox::{Fatal, LogAnswer, LogCounts, Outgoing};
#[cfg(feature = "plants")]
pub use plant::Plant;
pub use poll::execute::PollLimits;
pub use poll::request::{Consumer, Poll, PollPart, PollRefusal, PollStrategy, Polled};
pub use replicate::request::LogRequest;
pub use segments::adopt::{Adoption, AdoptionEnd};
pub use segments::consumer_activity::OffsetHold;
pub use segments::lease_cut::CutEnd;
pub use segments::policy::Keeping;
pub use segments::retention::RetentionLimits;
