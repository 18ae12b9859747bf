//! Data that crosses between a shard and the control plane: records, orders, events, figures and settings.
//!
//! Start with [`record`], the unit of both rings. The kinds of records are a table in `ng_wire`; the bodies
//! with more than a few fields have a module here: [`reconcile_order`], [`cut_order`], [`adopt_order`],
//! [`applied`], [`metadata_reply`], [`rows_update`], [`host_figures`]. Python reads [`event_ring`] and
//! [`metrics`] without records. [`settings`] are the values that the engine receives at its start.
//!
//! It uses `ng_replication`, because it encodes its results. It must not know connections or mailboxes.

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
