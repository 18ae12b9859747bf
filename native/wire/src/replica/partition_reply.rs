use crate::primitive::{Malformed, Reader, put_u8, put_u32, put_u64};

/// Why a partition did not execute an operation of its log. The same on every replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Rejection {
    /// No partition of this release executes it.
    Unsupported = 1,
    /// Its body does not parse.
    Malformed = 2,
    /// The partition takes no messages.
    Fenced = 3,
    /// The first offset of the batch is not beyond the last one of the partition.
    OffsetTaken = 4,
    /// The partition is in that generation already, or in a later one.
    StaleGeneration = 5,
    /// It was executed before; what came of it is not known any more.
    AlreadyApplied = 6,
    /// Messages of the segments that were to be replaced were truncated.
    InputGone = 7,
}

/// Why one offset of an operation was not stored or not dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum OffsetRefusal {
    /// It lies beyond the last message.
    BeyondEnd = 1,
    /// The partition keeps no more offsets.
    TableFull = 2,
    /// Nothing was stored that could be dropped.
    Missing = 3,
}

/// One offset of an operation that was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefusedOffset {
    /// Which entry of the operation, from 0.
    pub index: u32,
    /// Why.
    pub reason: OffsetRefusal,
}

/// What came of an operation of a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartitionReply {
    /// It was executed.
    Done {
        /// Batch: the base offset; purge: the generation; truncate prefix: the first offset; else 0.
        value: u64,
        /// Offsets: those that were refused, ascending; the others are stored.
        refused: Vec<RefusedOffset>,
    },
    /// It changed nothing.
    Rejected(Rejection),
}

const ENTRY_BYTES: usize = 8;

impl PartitionReply {
    /// The bytes of the reply.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let (code, value, refused): (u8, u64, &[RefusedOffset]) = match self {
            Self::Done { value, refused } => (0, *value, refused),
            Self::Rejected(reason) => (*reason as u8, 0, &[]),
        };
        let mut bytes = Vec::with_capacity(2 * ENTRY_BYTES + ENTRY_BYTES * refused.len());
        put_u8(&mut bytes, code);
        bytes.extend_from_slice(&[0; 7]);
        put_u64(&mut bytes, value);
        for entry in refused {
            put_u32(&mut bytes, entry.index);
            put_u8(&mut bytes, entry.reason as u8);
            bytes.extend_from_slice(&[0; 3]);
        }
        bytes
    }

    /// Reads a reply.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        let code = reader.u8()?;
        let (_, value) = (reader.bytes(7)?, reader.u64()?);
        if code != 0 {
            reader.finish()?;
            return rejection(code).map(Self::Rejected).ok_or(Malformed::Value(code.into()));
        }
        let mut refused = Vec::with_capacity(reader.remaining() / ENTRY_BYTES);
        while reader.remaining() > 0 {
            let (index, code, _) = (reader.u32()?, reader.u8()?, reader.bytes(3)?);
            let reason = offset_refusal(code).ok_or(Malformed::Value(code.into()))?;
            refused.push(RefusedOffset { index, reason });
        }
        Ok(Self::Done { value, refused })
    }
}

const fn rejection(code: u8) -> Option<Rejection> {
    Some(match code {
        1 => Rejection::Unsupported,
        2 => Rejection::Malformed,
        3 => Rejection::Fenced,
        4 => Rejection::OffsetTaken,
        5 => Rejection::StaleGeneration,
        6 => Rejection::AlreadyApplied,
        7 => Rejection::InputGone,
        _ => return None,
    })
}

const fn offset_refusal(code: u8) -> Option<OffsetRefusal> {
    Some(match code {
        1 => OffsetRefusal::BeyondEnd,
        2 => OffsetRefusal::TableFull,
        3 => OffsetRefusal::Missing,
        _ => return None,
    })
}
