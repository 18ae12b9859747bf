//! Client connections of one shard: from accepted descriptors to whole requests, and from replies to bytes.
//!
//! All code here runs on the shard's thread and never waits. The table drives a [`ng_io::Driver`], splits the
//! byte stream into frames, and asks a [`Service`] for the answers. It must not know commands or sessions.

pub mod acceptor;
pub mod admission;
pub mod connection;
pub mod deadlines;
pub mod frame_body;
mod frame_memory;
pub mod hand_over;
pub mod identity;
pub mod input;
pub mod limits;
mod sending;
pub mod service;
pub mod tcp;
pub mod unsent;

pub use acceptor::{Acceptor, Arrival};
pub use connection::Peer;
pub use frame_body::{FrameBody, Kept};
pub use hand_over::HandOver;
pub use identity::ConnectionId;
pub use limits::Limits;
pub use service::{Served, Service};
pub use tcp::Connections;
