//! What crosses between a shard and the control plane: records, orders, events, figures and settings.
//!
//! Start with [`record`], the unit of both rings. The kinds of records are a table in `ng_wire`; the bodies
//! that have more than a few fields have a module here: [`reconcile_order`], [`cut_order`], [`adopt_order`],
//! [`applied`], [`metadata_reply`], [`rows_update`], [`host_figures`]. [`event_ring`] and [`metrics`] are
//! read by Python without a record. [`settings`] is what the engine is told at its start.
//!
//! It may use `ng_replication` for the results that it encodes, and knows no connection and no mailbox.

#![forbid(unsafe_code)]

pub mod adopt_order;
pub mod applied;
pub mod cut_order;
pub mod event_ring;
pub mod host_figures;
pub mod log_pace;
pub mod memory_parts;
pub mod metadata_reply;
pub mod metrics;
#[cfg(feature = "plants")]
pub mod plant;
pub mod reconcile_order;
pub mod record;
pub mod rows_update;
pub mod settings;
pub mod shard_id;
