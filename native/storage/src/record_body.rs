//! Bodies of the records that the journal itself understands.

use ng_wire::primitive::{put_u8, put_u32, put_u64, put_u128};

use crate::bytes::{Fields, count32, put_zero};
use crate::record::{RECORD_HEADER, RecordHeader, RecordKind};
use crate::refusal::{Reason, Refusal};

const HEADERS_MAX: u32 = 4096;
const REPLICAS_MAX: u8 = 32;
const RANGES_MAX: u32 = 4096;

/// Body of a view record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewBody {
    /// The view entered.
    pub view: u64,
    /// The last view in which the log was known to be right.
    pub log_view: u64,
    /// What is committed.
    pub commit: u64,
    /// The last op of the log.
    pub head: u64,
    /// Prepare headers, ops strictly descending, none above `head`.
    pub headers: Vec<RecordHeader>,
}

/// Body of an open record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenBody {
    /// The directory was not there when the group was founded: never votes.
    pub blank: bool,
    /// Identities of the replicas' nodes, by replica number.
    pub replicas: Vec<u128>,
}

/// Body of an install record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstallBody {
    /// The prepare that the state ends with.
    pub anchor: RecordHeader,
    /// The state, but for messages: those were put into segments before.
    pub state: Vec<u8>,
}

/// Body of a mark record: ranges of blocks that are lost, ascending and apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MarkBody {
    /// Each range.
    pub lost: Vec<LostBlocks>,
}

/// A range of blocks of which nothing counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LostBlocks {
    /// Sequence of the first.
    pub first: u64,
    /// Sequence of the last.
    pub last: u64,
    /// What they were.
    pub standing: Standing,
}

/// What lost blocks were.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Standing {
    /// Numbers that a new incarnation passed over.
    Skipped = 0,
    /// Found, but never proven to be on the disk.
    Unproven = 1,
    /// As the next, and a start has gone on over the loss.
    Accepted = 2,
    /// On the disk for good, until they could not be read.
    Proven = 3,
}

impl ViewBody {
    /// Bytes in front of the headers.
    const FIXED_BYTES: usize = 40;

    /// How many headers have room in a body of so many bytes.
    #[must_use]
    pub const fn headers_in(body_bytes: usize) -> usize {
        body_bytes.saturating_sub(Self::FIXED_BYTES) / RECORD_HEADER
    }

    /// The body's bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(Self::FIXED_BYTES + RECORD_HEADER * self.headers.len());
        for field in [self.view, self.log_view, self.commit, self.head] {
            put_u64(&mut bytes, field);
        }
        put_u32(&mut bytes, count32(self.headers.len()));
        put_u32(&mut bytes, 0);
        for header in &self.headers {
            header.encode(&mut bytes);
        }
        bytes
    }

    /// Reads a whole body of `group`.
    pub fn decode(bytes: &[u8], group: u64) -> Result<Self, Refusal> {
        let mut fields = Fields::new("view record", bytes);
        let view = fields.u64("view")?;
        let log_view = fields.u64("log view")?;
        let commit = fields.u64("commit")?;
        let head = fields.u64("head")?;
        let count = fields.count("headers", 0, HEADERS_MAX)?;
        fields.zero("reserved", 4)?;
        let mut headers: Vec<RecordHeader> = Vec::new();
        for number in 0..count {
            let (header, _) = RecordHeader::decode(fields.bytes("header", RECORD_HEADER)?)?;
            let below = headers.last().map_or(head.saturating_add(1), |last| last.op);
            if header.op >= below || header.group != group || header.kind != RecordKind::Prepare {
                return Err(fields.refuse("header", Reason::Order(number as u64)));
            }
            headers.push(header);
        }
        fields.finish()?;
        Ok(Self { view, log_view, commit, head, headers })
    }
}

impl OpenBody {
    /// The body's bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(8 + 16 * self.replicas.len());
        put_u8(&mut bytes, u8::try_from(self.replicas.len()).expect("a group has at most 32 replicas"));
        put_u8(&mut bytes, u8::from(self.blank));
        put_zero(&mut bytes, 6);
        for replica in &self.replicas {
            put_u128(&mut bytes, *replica);
        }
        bytes
    }

    /// Reads a whole body.
    pub fn decode(bytes: &[u8]) -> Result<Self, Refusal> {
        let mut fields = Fields::new("open record", bytes);
        let count = fields.u8("replicas")?;
        if !(1..=REPLICAS_MAX).contains(&count) {
            return Err(fields.refuse("replicas", Reason::Value(u64::from(count))));
        }
        let blank = match fields.u8("blank")? {
            0 => false,
            1 => true,
            other => return Err(fields.refuse("blank", Reason::Value(u64::from(other)))),
        };
        fields.zero("reserved", 6)?;
        let replicas = (0..count).map(|_| fields.u128("replica")).collect::<Result<_, _>>()?;
        fields.finish()?;
        Ok(Self { blank, replicas })
    }
}

impl InstallBody {
    /// The body's bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(RECORD_HEADER + self.state.len());
        self.anchor.encode(&mut bytes);
        bytes.extend_from_slice(&self.state);
        bytes
    }

    /// Reads a whole body.
    pub fn decode(bytes: &[u8]) -> Result<Self, Refusal> {
        let mut fields = Fields::new("install record", bytes);
        let (anchor, _) = RecordHeader::decode(fields.bytes("anchor", RECORD_HEADER)?)?;
        Ok(Self { anchor, state: bytes[RECORD_HEADER..].to_vec() })
    }
}

impl LostBlocks {
    /// Whether a block is one of them.
    #[must_use]
    pub const fn holds(&self, sequence: u64) -> bool {
        self.first <= sequence && sequence <= self.last
    }
}

impl MarkBody {
    /// How long a body of so many ranges is.
    #[must_use]
    pub const fn bytes_of(ranges: usize) -> usize {
        8 + 24 * ranges
    }

    /// The body's bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(Self::bytes_of(self.lost.len()));
        put_u32(&mut bytes, count32(self.lost.len()));
        put_u32(&mut bytes, 0);
        for lost in &self.lost {
            put_u64(&mut bytes, lost.first);
            put_u64(&mut bytes, lost.last);
            put_u8(&mut bytes, lost.standing as u8);
            put_zero(&mut bytes, 7);
        }
        bytes
    }

    /// Reads a whole body.
    pub fn decode(bytes: &[u8]) -> Result<Self, Refusal> {
        let mut fields = Fields::new("mark record", bytes);
        let count = fields.count("ranges", 0, RANGES_MAX)?;
        fields.zero("reserved", 4)?;
        let mut lost: Vec<LostBlocks> = Vec::new();
        for number in 0..count {
            let (first, last) = (fields.u64("range")?, fields.u64("range")?);
            let standing = match fields.u8("standing")? {
                0 => Standing::Skipped,
                1 => Standing::Unproven,
                2 => Standing::Accepted,
                3 => Standing::Proven,
                newer => return Err(fields.refuse("standing", Reason::Newer(u64::from(newer)))),
            };
            fields.zero("reserved", 7)?;
            if first > last || lost.last().is_some_and(|before| before.last >= first) {
                return Err(fields.refuse("range", Reason::Order(number as u64)));
            }
            lost.push(LostBlocks { first, last, standing });
        }
        fields.finish()?;
        Ok(Self { lost })
    }
}
