//! The number of a shard.

/// Number of a shard in its process, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ShardId(pub u16);

impl ShardId {
    /// The shard that accepts connections and owns the parts that exist once per process: the client registry
    /// and the ring to Python.
    pub const FIRST: Self = Self(0);

    /// No shard: the record is about the node.
    pub const NONE: Self = Self(u16::MAX);

    /// Position in tables with one row per shard.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}
