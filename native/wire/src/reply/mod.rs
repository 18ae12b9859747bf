//! Whole frames a server sends, appended to the caller's bytes, and the bodies that go into them.

mod client;
mod cluster;
mod consumer_offset;
mod frame;
mod messages;
mod options;
mod result;
mod session;
mod stats;
mod streams;
mod topics;
mod users;

pub use client::{Client, Membership};
pub use cluster::{Cluster, Node};
pub use consumer_offset::StoredOffset;
pub use frame::{Position, denied, evicted, ok, ok_within, rejected};
pub use messages::{Confirmation, POLL_HEADER_BYTES, PollHeader, put_confirmations};
pub use options::put_options;
pub use result::{put_rejection, put_success};
pub use session::Registered;
pub use stats::Stats;
pub use streams::Stream;
pub use topics::{Partition, Topic};
pub use users::User;
