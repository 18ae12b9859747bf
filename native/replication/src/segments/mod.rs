//! The segments of the partitions: filled by write-behind, cut for offline jobs, replaced by compacted ones,
//! and deleted by retention.
//!
//! Start with [`write_behind`]. `ng_storage::store` manages the files.

pub(crate) mod adopt;
pub(crate) mod consumer_activity;
pub(crate) mod lease_cut;
pub(crate) mod policy;
pub(crate) mod retention;
pub(crate) mod store;
pub(crate) mod write_behind;
