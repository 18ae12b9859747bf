//! What crosses between the shards of a node.
//!
//! Start with [`frame`], one entry of a mailbox. [`mailbox`] is a bounded ring for each ordered pair of
//! shards, [`doorbell`] wakes a shard that rests, [`forward`] says which shard each kind of frame goes to,
//! and [`routes`] which shard owns a partition.
//!
//! It may use `ng_control`, whose orders and reports travel in frames, and knows no session and no shard.

#![forbid(unsafe_code)]

pub mod doorbell;
#[cfg(debug_assertions)]
pub mod fault;
pub mod forward;
pub mod frame;
pub mod mailbox;
pub mod routes;
mod sync;
