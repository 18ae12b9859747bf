//! The journal of the shard: records written to it, messages that wait for its sync, and recovery from it.
//!
//! Start with [`append`], which connects replicas and journal. [`after_sync`] holds back each message until
//! the bytes it depends on are synced. `ng_storage::journal` encodes the bytes.

pub(crate) mod after_sync;
pub(crate) mod append;
pub(crate) mod checkpoint;
pub(crate) mod group_commit;
pub(crate) mod group_records;
pub(crate) mod journal;
pub(crate) mod read_back;
pub(crate) mod recovery;
pub(crate) mod refused_prepares;
