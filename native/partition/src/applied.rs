use ng_wire::batch::Verified;
use ng_wire::replica::{PartitionReply, RefusedOffset, Rejection};

/// What an operation changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    Noop,
    /// These messages are in the partition; its shell keeps their bytes.
    Batch(Verified),
    /// Offsets were stored or dropped.
    Offsets {
        /// Those that were not, by their place in the operation.
        refused: Vec<RefusedOffset>,
    },
    /// Messages and offsets are gone.
    Purge {
        /// The generation that begins.
        generation: u64,
    },
    /// Messages below this offset are gone.
    TruncatePrefix {
        /// The first offset that is left.
        first_offset: u64,
    },
    /// A group has no offset any more.
    DropGroupOffsets {
        /// Whether it had one.
        dropped: bool,
    },
    /// The partition takes messages no more, or again.
    Fence {
        /// Whether it refuses them now.
        on: bool,
    },
    /// Compacted segments take the place of those that the operation names.
    Swap,
}

/// What came of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Applied {
    /// It changed this.
    Done(Effect),
    /// It changed nothing, on no replica.
    Rejected(Rejection),
    /// It was executed before.
    AlreadyApplied,
}

impl Applied {
    /// The answer to whoever asked for the operation, in the bytes of `REPLICA.md`.
    #[must_use]
    pub fn reply(self) -> Vec<u8> {
        let value = self.value();
        let reply = match self {
            Self::Done(Effect::Offsets { refused }) => PartitionReply::Done { value, refused },
            Self::Done(_) => PartitionReply::Done { value, refused: Vec::new() },
            Self::Rejected(reason) => PartitionReply::Rejected(reason),
            Self::AlreadyApplied => PartitionReply::Rejected(Rejection::AlreadyApplied),
        };
        reply.encode()
    }

    const fn value(&self) -> u64 {
        match self {
            Self::Done(Effect::Batch(batch)) => batch.header.base_offset,
            Self::Done(Effect::Purge { generation }) => *generation,
            Self::Done(Effect::TruncatePrefix { first_offset }) => *first_offset,
            _ => 0,
        }
    }
}
