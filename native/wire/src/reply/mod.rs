//! Whole frames a server sends, appended to the caller's bytes, and the bodies that go into them.

mod client;
mod cluster;
mod frame;
mod options;
mod session;
mod stats;

pub use client::{Client, Membership};
pub use cluster::{Cluster, Node};
pub use frame::{Position, denied, evicted, ok, rejected};
pub use options::put_options;
pub use session::Registered;
pub use stats::Stats;
