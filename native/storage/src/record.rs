//! Record headers: the 160 bytes by which a record is known wherever its copies lie.

use ng_wire::primitive::{put_u8, put_u16, put_u32, put_u64, put_u128};
pub use ng_wire::replica::{BodyCheck, Level};
use ng_wire::replica::{Op, PrepareHeader, View};

use crate::bytes::{Fields, put_zero};
use crate::checksum::checksum;
use crate::refusal::{Reason, Refusal};

/// Bytes of a record header.
pub const RECORD_HEADER: usize = 160;

const NAME: &str = "record";

/// What a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum RecordKind {
    /// An operation of a group, before it is committed.
    Prepare = 1,
    /// The view a group's replica has entered, and what its log is then.
    View = 2,
    /// A group begins here.
    Open = 3,
    /// A group ends here.
    Close = 4,
    /// State came from another replica.
    Install = 5,
    /// Blocks that are lost for good.
    Mark = 6,
    /// A record of which only the header can be read.
    Damaged = 7,
}

/// Everything about a record but its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RecordHeader {
    /// Checksum of what the body check covers of the body.
    pub body_checksum: u128,
    /// Checksum of the prepare before, in a prepare.
    pub parent: u128,
    /// Who asked, in a prepare; 0 for nobody.
    pub client: u128,
    /// Which group.
    pub group: u64,
    /// Which op.
    pub op: u64,
    /// Which view.
    pub view: u64,
    /// Number of the client's request.
    pub request: u64,
    /// Microseconds since the Unix epoch.
    pub timestamp: u64,
    /// What the primary had committed.
    pub commit: u64,
    /// What the record is.
    pub kind: RecordKind,
    /// What an acknowledgement of it means.
    pub level: Level,
    /// What a prepare's body is, for the group's state machine.
    pub operation: u16,
    /// Bytes of the body.
    pub body_length: u32,
    /// Of the group's configuration.
    pub epoch: u32,
    /// How the body is held against the body checksum.
    pub body_check: BodyCheck,
}

impl RecordHeader {
    /// A header for `body` with every field that the kind does not need at zero.
    #[must_use]
    pub fn of(kind: RecordKind, group: u64, body: &[u8]) -> Self {
        Self {
            body_checksum: checksum(body),
            parent: 0,
            client: 0,
            group,
            op: 0,
            view: 0,
            request: 0,
            timestamp: 0,
            commit: 0,
            kind,
            level: Level::Replicated,
            operation: 0,
            body_length: u32::try_from(body.len()).unwrap_or(u32::MAX),
            epoch: 0,
            body_check: BodyCheck::Whole,
        }
    }

    /// The identity of the record.
    #[must_use]
    pub fn checksum(&self) -> u128 {
        let mut bytes = Vec::with_capacity(RECORD_HEADER);
        self.encode(&mut bytes)
    }

    /// Appends the 160 bytes and returns the identity.
    pub fn encode(&self, into: &mut Vec<u8>) -> u128 {
        let start = into.len();
        put_u128(into, 0);
        put_u128(into, self.body_checksum);
        put_u128(into, self.parent);
        put_u128(into, self.client);
        for field in [self.group, self.op, self.view, self.request, self.timestamp, self.commit] {
            put_u64(into, field);
        }
        put_u8(into, self.kind as u8);
        put_u8(into, self.level as u8);
        put_u16(into, self.operation);
        put_u32(into, self.body_length);
        put_u32(into, self.epoch);
        put_u8(into, self.body_check.code());
        // Reserved, the segment that may hold a body one day, reserved.
        put_zero(into, 3 + 16 + 16);
        let sum = checksum(&into[start + 16..]);
        into[start..start + 16].copy_from_slice(&sum.to_le_bytes());
        sum
    }

    /// Reads 160 bytes; returns the header and its identity.
    pub fn decode(bytes: &[u8]) -> Result<(Self, u128), Refusal> {
        let mut fields = Fields::new(NAME, bytes);
        let stored = fields.u128("checksum")?;
        let covered = bytes.get(16..RECORD_HEADER).unwrap_or_default();
        if covered.len() + 16 < RECORD_HEADER {
            let short = Reason::Short { needed: RECORD_HEADER as u64, found: bytes.len() as u64 };
            return Err(fields.refuse("header", short));
        }
        if checksum(covered) != stored {
            return Err(fields.refuse("checksum", Reason::Checksum));
        }
        let header = Self {
            body_checksum: fields.u128("body checksum")?,
            parent: fields.u128("parent")?,
            client: fields.u128("client")?,
            group: fields.u64("group")?,
            op: fields.u64("op")?,
            view: fields.u64("view")?,
            request: fields.u64("request")?,
            timestamp: fields.u64("timestamp")?,
            commit: fields.u64("commit")?,
            kind: kind_of(fields.u8("kind")?)?,
            level: level_of(fields.u8("level")?)?,
            operation: fields.u16("operation")?,
            body_length: fields.u32("body length")?,
            epoch: fields.u32("epoch")?,
            body_check: body_check_of(fields.u8("body check")?)?,
        };
        fields.zero("reserved", 3)?;
        if fields.bytes("segment", 16)?.iter().any(|byte| *byte != 0) {
            return Err(fields.refuse("segment", Reason::Newer(1)));
        }
        fields.zero("reserved", 16)?;
        fields.finish()?;
        Ok((header, stored))
    }

    /// Whether this header was sealed over `body`. A batch is taken at its own word about its payload: where
    /// the bytes come from a disk or from another node, ask [`body_is_whole`].
    #[must_use]
    pub fn is_sealed_over(&self, body: &[u8]) -> bool {
        self.body_length as usize == body.len() && self.body_check.checksum(body) == self.body_checksum
    }

    /// The header as replicas send it: the same 160 bytes. Only a prepare has one.
    #[must_use]
    pub fn prepare(&self) -> Option<PrepareHeader> {
        let header = PrepareHeader {
            checksum: 0,
            body_checksum: self.body_checksum,
            parent: self.parent,
            client: self.client,
            group: self.group,
            op: Op(self.op),
            view: View(self.view),
            request: self.request,
            timestamp: self.timestamp,
            commit: Op(self.commit),
            level: self.level,
            operation: self.operation,
            body_bytes: self.body_length,
            epoch: self.epoch,
            body_check: self.body_check,
        };
        (self.kind == RecordKind::Prepare).then(|| header.sealed())
    }
}

impl From<PrepareHeader> for RecordHeader {
    fn from(header: PrepareHeader) -> Self {
        Self {
            body_checksum: header.body_checksum,
            parent: header.parent,
            client: header.client,
            group: header.group,
            op: header.op.0,
            view: header.view.0,
            request: header.request,
            timestamp: header.timestamp,
            commit: header.commit.0,
            kind: RecordKind::Prepare,
            level: header.level,
            operation: header.operation,
            body_length: header.body_bytes,
            epoch: header.epoch,
            body_check: header.body_check,
        }
    }
}

/// Whether every byte of `body` is the one that was written: one pass over all of it.
#[must_use]
pub fn body_is_whole(header: &RecordHeader, body: &[u8]) -> bool {
    header.body_length as usize == body.len() && header.body_check.proves(body, header.body_checksum)
}

fn kind_of(value: u8) -> Result<RecordKind, Refusal> {
    Ok(match value {
        1 => RecordKind::Prepare,
        2 => RecordKind::View,
        3 => RecordKind::Open,
        4 => RecordKind::Close,
        5 => RecordKind::Install,
        6 => RecordKind::Mark,
        7 => RecordKind::Damaged,
        0 => return Err(Refusal::new(NAME, "kind", Reason::Value(0))),
        newer => return Err(Refusal::new(NAME, "kind", Reason::Newer(u64::from(newer)))),
    })
}

fn level_of(value: u8) -> Result<Level, Refusal> {
    match value {
        0 => Ok(Level::Replicated),
        1 => Ok(Level::Persisted),
        newer => Err(Refusal::new(NAME, "level", Reason::Newer(u64::from(newer)))),
    }
}

fn body_check_of(value: u8) -> Result<BodyCheck, Refusal> {
    let newer = Refusal::new(NAME, "body check", Reason::Newer(u64::from(value)));
    BodyCheck::from_code(value).ok_or(newer)
}
