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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstallBody {
    /// The last offset, `u64::MAX` for none.
    pub last_offset: u64,
    /// The purge generation.
    pub purge_generation: u64,
    /// Checksum of the prepare that the state ends with.
    pub chain: u128,
}

/// Body of a mark record: ranges of blocks that are lost, ascending and apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MarkBody {
    /// First and last sequence of each range.
    pub lost: Vec<(u64, u64)>,
}

impl ViewBody {
    /// The body's bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(40 + RECORD_HEADER * self.headers.len());
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
        let mut bytes = Vec::with_capacity(40);
        put_u64(&mut bytes, self.last_offset);
        put_u64(&mut bytes, self.purge_generation);
        put_u128(&mut bytes, self.chain);
        put_zero(&mut bytes, 8);
        bytes
    }

    /// Reads a whole body.
    pub fn decode(bytes: &[u8]) -> Result<Self, Refusal> {
        let mut fields = Fields::new("install record", bytes);
        let body = Self {
            last_offset: fields.u64("last offset")?,
            purge_generation: fields.u64("purge generation")?,
            chain: fields.u128("chain")?,
        };
        fields.zero("reserved", 8)?;
        fields.finish()?;
        Ok(body)
    }
}

impl MarkBody {
    /// The body's bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(8 + 16 * self.lost.len());
        put_u32(&mut bytes, count32(self.lost.len()));
        put_u32(&mut bytes, 0);
        for (first, last) in &self.lost {
            put_u64(&mut bytes, *first);
            put_u64(&mut bytes, *last);
        }
        bytes
    }

    /// Reads a whole body.
    pub fn decode(bytes: &[u8]) -> Result<Self, Refusal> {
        let mut fields = Fields::new("mark record", bytes);
        let count = fields.count("ranges", 0, RANGES_MAX)?;
        fields.zero("reserved", 4)?;
        let mut lost: Vec<(u64, u64)> = Vec::new();
        for number in 0..count {
            let range = (fields.u64("range")?, fields.u64("range")?);
            if range.0 > range.1 || lost.last().is_some_and(|last| last.1 >= range.0) {
                return Err(fields.refuse("range", Reason::Order(number as u64)));
            }
            lost.push(range);
        }
        fields.finish()?;
        Ok(Self { lost })
    }
}
