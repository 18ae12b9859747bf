//! The journal of the shard: what is written to it, what waits for its sync, and how a start reads it.
//!
//! Start with [`append`], which connects replicas and journal; [`after_sync`] holds back each message that
//! vouches for bytes that are not synced. The bytes themselves are made in `ng_storage::journal`.

pub(crate) mod after_sync;
pub(crate) mod append;
pub(crate) mod checkpoint;
pub(crate) mod group_commit;
pub(crate) mod group_records;
pub(crate) mod journal;
pub(crate) mod read_back;
pub(crate) mod recovery;
pub(crate) mod refused_prepares;
