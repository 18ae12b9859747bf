//! Frames and mailboxes between the shards of a node.
//!
//! Start with [`frame`], one entry of a mailbox. [`mailbox`] is a bounded ring for each ordered pair of
//! shards, [`doorbell`] wakes a sleeping shard, [`forward`] chooses the target shard of each kind of frame,
//! and [`routes`] maps partitions to their owners.
//!
//! It uses `ng_control`, because frames carry reconcile operations and reports. It must not know sessions or
//! shards.

#![forbid(unsafe_code)]

pub mod doorbell;
#[cfg(debug_assertions)]
pub mod fault;
pub mod forward;
pub mod frame;
pub mod mailbox;
pub mod routes;
mod sync;
