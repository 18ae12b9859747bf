//! What does not change while a node runs.

use std::net::SocketAddr;

use ng_io::{Instant, WallMicros};

/// The Iggy release whose clients this server serves; they log it and show it, and compare nothing else with
/// it.
pub const IGGY_VERSION: &str = "0.9.0";

/// [`IGGY_VERSION`] as one number, the way statistics carry it.
pub const IGGY_SEMVER: u32 = 9_000;

/// The name of a node that is alone.
pub const NODE_NAME: &str = "iggy-node";

/// Facts of one run of a node, shared by its shards.
#[derive(Clone, Debug)]
pub struct NodeFacts {
    /// The cluster's name.
    pub cluster_name: String,
    /// Where TCP clients are accepted.
    pub tcp: SocketAddr,
    /// When the node started, for clients.
    pub started_wall: WallMicros,
    /// When the node started, for intervals.
    pub started: Instant,
}
