//! The replicated logs of one shard: all its groups on one journal. The daemon and the simulator run the same
//! code.
//!
//! Start with [`ShardLog`], a value that takes requests, frames of other nodes and completions of its files,
//! and then a turn. It submits operations to a driver and returns the frames and answers that leave
//! ([`Outgoing`]). It owns every group of its shard: the replica ([`ng_vsr::Replica`]), the state machine,
//! and everything that waits for either. No code visits all groups, except when another node falls silent.
//!
//! | Folder | Contains |
//! |---|---|
//! | `replicate` | requests, frames and timers into replicas; their effects out |
//! | `durability` | journal, syncs, checkpoints, recovery |
//! | `segments` | write-behind, retention, adoption, cuts |
//! | `poll` | reading for clients |
//! | `transfer` | the state of a group for a node that lags too far |
//!
//! It may use `ng_vsr`, `ng_partition`, `ng_storage`, `ng_io` and `ng_wire`. It must not know client
//! connections, sessions or rows.

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
