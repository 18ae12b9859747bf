//! LAYOUT: which shards exist and which journals a start must recover.

use ng_wire::primitive::{put_u8, put_u32, put_u128};

use crate::bytes::{Fields, count32, put_zero};
use crate::envelope::Kind;
use crate::refusal::{Reason, Refusal};

/// Nodes that a cluster may have.
const NODES_MAX: u8 = 32;

const SHARDS_MAX: u32 = 1024;
const JOURNALS_MAX: u32 = 2048;

/// The structure's marks and bounds.
pub const KIND: Kind =
    Kind { name: "layout", magic: *b"NGLAYOUT", version: 2, size: (96 + 8, 96 + 8 * JOURNALS_MAX as usize) };

/// One journal, by the epoch and the shard that name its directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct JournalName {
    /// The epoch the journal was made in.
    pub epoch: u32,
    /// The shard it belongs to.
    pub shard: u32,
}

/// Which of how many nodes a disk belongs to; fixed when the data directory is founded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// The number of the node, below `count`.
    pub number: u8,
    /// How many nodes the cluster has, 1 to 32.
    pub count: u8,
}

impl Member {
    /// The node of a cluster of one.
    pub const STANDALONE: Self = Self { number: 0, count: 1 };

    /// Whether no other node has a copy of anything.
    #[must_use]
    pub const fn is_standalone(self) -> bool {
        self.count == 1
    }

    pub(crate) fn encode(self, into: &mut Vec<u8>) {
        put_u8(into, self.number);
        put_u8(into, self.count);
    }

    pub(crate) fn decode(fields: &mut Fields<'_>) -> Result<Self, Refusal> {
        let number = fields.u8("node number")?;
        let count = fields.u8("node count")?;
        if count == 0 || count > NODES_MAX {
            return Err(fields.refuse("node count", Reason::Value(count.into())));
        }
        if number >= count {
            return Err(fields.refuse("node number", Reason::Value(number.into())));
        }
        Ok(Self { number, count })
    }
}

/// Which shards exist and which journals a start must recover.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Identity of the cluster.
    pub cluster: u128,
    /// Identity of the node's disk.
    pub node: u128,
    /// Which of how many nodes.
    pub member: Member,
    /// Raised by each change of the shard count.
    pub epoch: u32,
    /// How many shards there are.
    pub shard_count: u32,
    /// Strictly ascending, never empty.
    pub journals: Vec<JournalName>,
}

impl Layout {
    /// The file's bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(96 + 8 * self.journals.len());
        KIND.seal(&mut bytes, |into| {
            put_u128(into, self.cluster);
            put_u128(into, self.node);
            put_u32(into, self.epoch);
            put_u32(into, self.shard_count);
            put_u32(into, count32(self.journals.len()));
            self.member.encode(into);
            put_zero(into, 18);
            for journal in &self.journals {
                put_u32(into, journal.epoch);
                put_u32(into, journal.shard);
            }
        });
        bytes
    }

    /// Reads a whole file.
    pub fn decode(bytes: &[u8]) -> Result<Self, Refusal> {
        let mut fields = Fields::new(KIND.name, KIND.open_all(bytes)?.content);
        let cluster = fields.u128("cluster")?;
        let node = fields.u128("node")?;
        let epoch = fields.u32("epoch")?;
        if epoch == 0 {
            return Err(fields.refuse("epoch", Reason::Value(0)));
        }
        let shard_count = count32(fields.count("shard count", 1, SHARDS_MAX)?);
        let count = fields.count("journals", 1, JOURNALS_MAX)?;
        let member = Member::decode(&mut fields)?;
        fields.zero("reserved", 18)?;
        let mut journals: Vec<JournalName> = Vec::with_capacity(count);
        for number in 0..count {
            let journal = JournalName { epoch: fields.u32("entry")?, shard: fields.u32("entry")? };
            if journals.last().is_some_and(|last| *last >= journal) {
                return Err(fields.refuse("entry", Reason::Order(number as u64)));
            }
            journals.push(journal);
        }
        fields.finish()?;
        Ok(Self { cluster, node, member, epoch, shard_count, journals })
    }
}
