use super::operation::LogOperation;
use super::swap::Swap;
use crate::primitive::{Malformed, Reader, put_u8, put_u64};

/// Bytes of one offset in an offsets operation.
const OFFSET_WRITE_BYTES: usize = 24;

/// What stands for "no offset".
const NONE: u64 = u64::MAX;

/// Who keeps an offset in a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum ConsumerKind {
    /// A consumer of its own.
    Consumer = 1,
    /// A consumer group.
    Group = 2,
}

impl ConsumerKind {
    /// The number in bodies and files.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The kind of a number.
    #[must_use]
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(Self::Consumer),
            2 => Some(Self::Group),
            _ => None,
        }
    }
}

/// One offset that is stored, or dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OffsetWrite {
    /// Whose kind.
    pub kind: ConsumerKind,
    /// Whose number.
    pub id: u64,
    /// The offset; `None` drops the stored one.
    pub offset: Option<u64>,
}

/// The offsets of an operation, checked and still in their bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OffsetWrites<'a> {
    entries: &'a [u8],
}

impl<'a> OffsetWrites<'a> {
    fn decode(body: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let mut last = None;
        loop {
            let write = offset_write(&mut reader)?;
            let place = (write.kind, write.id);
            if last.is_some_and(|last| place <= last) {
                return Err(Malformed::Value(u32::from(write.kind.code())));
            }
            if reader.remaining() == 0 {
                return Ok(Self { entries: body });
            }
            last = Some(place);
        }
    }

    /// One after the other, ascending by kind and id.
    pub fn iter(&self) -> impl Iterator<Item = OffsetWrite> + 'a {
        let mut reader = Reader::new(self.entries);
        std::iter::from_fn(move || offset_write(&mut reader).ok())
    }
}

fn offset_write(reader: &mut Reader<'_>) -> Result<OffsetWrite, Malformed> {
    let code = reader.u8()?;
    let kind = ConsumerKind::from_code(code).ok_or(Malformed::Value(code.into()))?;
    zero(reader)?;
    let (id, offset) = (reader.u64()?, reader.u64()?);
    Ok(OffsetWrite { kind, id, offset: (offset != NONE).then_some(offset) })
}

/// The seven bytes behind a byte.
fn zero(reader: &mut Reader<'_>) -> Result<(), Malformed> {
    match reader.bytes(7)?.iter().find(|byte| **byte != 0) {
        None => Ok(()),
        Some(byte) => Err(Malformed::Value((*byte).into())),
    }
}

/// The body of an offsets operation. The entries ascend by kind and id, and there is one.
#[must_use]
pub fn offsets_body(writes: &[OffsetWrite]) -> Vec<u8> {
    let mut body = Vec::with_capacity(OFFSET_WRITE_BYTES * writes.len());
    for write in writes {
        put_byte(&mut body, write.kind.code());
        put_u64(&mut body, write.id);
        put_u64(&mut body, write.offset.unwrap_or(NONE));
    }
    body
}

fn put_byte(into: &mut Vec<u8>, value: u8) {
    put_u8(into, value);
    into.extend_from_slice(&[0; 7]);
}

/// What an operation in the log of a partition asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionOp<'a> {
    /// Nothing.
    Noop,
    /// Messages; the bytes of a batch, not looked at yet.
    Batch(&'a [u8]),
    /// Offsets to store or to drop.
    Offsets(OffsetWrites<'a>),
    /// A new generation without messages and offsets.
    Purge {
        /// Its number, above that of the one before.
        generation: u64,
    },
    /// Messages below an offset go.
    TruncatePrefix {
        /// The first offset that stays.
        offset: u64,
    },
    /// The offset of a consumer group goes.
    DropGroupOffsets {
        /// Which group.
        id: u64,
    },
    /// The partition takes messages no more, or again.
    Fence {
        /// Whether it refuses them from here on.
        on: bool,
    },
    /// Compacted segments take the place of others.
    Swap(Swap<'a>),
}

impl<'a> PartitionOp<'a> {
    /// Reads the body of an operation; `None` if no partition of this release executes such a one.
    pub fn decode(operation: LogOperation, body: &'a [u8]) -> Option<Result<Self, Malformed>> {
        let number = || {
            let mut reader = Reader::new(body);
            let number = reader.u64()?;
            reader.finish().map(|()| number)
        };
        Some(match operation {
            LogOperation::Noop => Reader::new(body).finish().map(|()| Self::Noop),
            LogOperation::Batch => Ok(Self::Batch(body)),
            LogOperation::Offsets => OffsetWrites::decode(body).map(Self::Offsets),
            LogOperation::Purge => number().map(|generation| Self::Purge { generation }),
            LogOperation::TruncatePrefix => number().map(|offset| Self::TruncatePrefix { offset }),
            LogOperation::DropGroupOffsets => number().map(|id| Self::DropGroupOffsets { id }),
            LogOperation::Fence => fence(body),
            LogOperation::Swap => Swap::decode(body).map(Self::Swap),
            LogOperation::Register | LogOperation::Logout | LogOperation::Metadata => return None,
        })
    }

    /// The operation and its body.
    #[must_use]
    pub fn encode(&self) -> (LogOperation, Vec<u8>) {
        let number = |value: u64| value.to_le_bytes().to_vec();
        match *self {
            Self::Noop => (LogOperation::Noop, Vec::new()),
            Self::Batch(batch) => (LogOperation::Batch, batch.to_vec()),
            Self::Offsets(writes) => (LogOperation::Offsets, writes.entries.to_vec()),
            Self::Purge { generation } => (LogOperation::Purge, number(generation)),
            Self::TruncatePrefix { offset } => (LogOperation::TruncatePrefix, number(offset)),
            Self::DropGroupOffsets { id } => (LogOperation::DropGroupOffsets, number(id)),
            Self::Fence { on } => (LogOperation::Fence, number(on.into())),
            Self::Swap(swap) => (LogOperation::Swap, swap.body()),
        }
    }
}

fn fence<'a>(body: &[u8]) -> Result<PartitionOp<'a>, Malformed> {
    let mut reader = Reader::new(body);
    let on = match reader.u8()? {
        0 => false,
        1 => true,
        other => return Err(Malformed::Value(other.into())),
    };
    zero(&mut reader)?;
    reader.finish().map(|()| PartitionOp::Fence { on })
}
