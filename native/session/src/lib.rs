//! What is done with a client: logins, sessions, and each request until its answer is written.
//!
//! Start with [`request_handler`], which judges a request and answers it or passes it on. [`registry`] exists
//! once in a process, on the first shard: the clients, their sessions and the [`login`]s in progress.
//! Whatever waits for an answer of another shard, of the log or of Python is a row of [`tickets`].
//!
//! It may use `ng_mesh` and `ng_control`, and owns no file, no log and no socket.

#![forbid(unsafe_code)]

pub mod enrichments;
pub mod log_ticket;
pub mod login;
pub mod metadata_requests;
pub mod node_facts;
pub mod registry;
pub mod request_handler;
pub mod sessions;
pub mod tickets;
pub mod totals;
