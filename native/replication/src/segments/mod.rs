//! The segments of the partitions: filled behind the journal, cut for offline jobs, replaced by what those
//! jobs made, and deleted by retention.
//!
//! Start with [`write_behind`]. The files themselves are the matter of `ng_storage::store`.

pub(crate) mod adopt;
pub(crate) mod consumer_activity;
pub(crate) mod lease_cut;
pub(crate) mod policy;
pub(crate) mod retention;
pub(crate) mod store;
pub(crate) mod write_behind;
