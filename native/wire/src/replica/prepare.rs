use thiserror::Error;

use super::body_check::BodyCheck;
use super::checksum::xxh3_128;
use super::identity::{Op, View};
use crate::primitive::{Malformed, Reader, put_u8, put_u16, put_u32, put_u64, put_u128};

/// Bytes of a prepare header, on the wire and in the journal.
pub const PREPARE_HEADER_BYTES: usize = 160;

/// The record kind of a prepare in the journal; the header is the same bytes in both places.
const KIND_PREPARE: u8 = 1;

/// What the client of an operation was promised about its acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Level {
    /// In the journal of a quorum.
    #[default]
    Replicated = 0,
    /// In the journal of a quorum, and synced there.
    Persisted = 1,
}

/// The identity of one operation: what it is, where in the log it stands and what stands before it.
///
/// `checksum` covers every other field, `parent` among them, so equal checksums mean equal logs up to here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrepareHeader {
    /// XXH3-128 of the other fields.
    pub checksum: u128,
    /// XXH3-128 of what the body check covers of the body.
    pub body_checksum: u128,
    /// The checksum of the prepare of the op before.
    pub parent: u128,
    /// Who asked; zero for the cluster itself.
    pub client: u128,
    /// The group whose log it stands in.
    pub group: u64,
    /// The place in the log.
    pub op: Op,
    /// The view in which it was made; it keeps it when a later view takes it over.
    pub view: View,
    /// The request number of the client.
    pub request: u64,
    /// Microseconds since the Unix epoch, stamped by the primary.
    pub timestamp: u64,
    /// What the primary had committed when it made this.
    pub commit: Op,
    /// How it is acknowledged.
    pub level: Level,
    /// The operation as it came, known or not.
    pub operation: u16,
    /// Bytes of body.
    pub body_bytes: u32,
    /// The epoch of the group's configuration.
    pub epoch: u32,
    /// How the body is held against the body checksum.
    pub body_check: BodyCheck,
}

/// A prepare header that is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PrepareRefusal {
    /// Too few bytes, or a discriminant without a meaning.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// The bytes are not those it was sealed with.
    #[error("the checksum of a prepare header does not match")]
    Checksum,
    /// The header is of another kind of record.
    #[error("a record of kind {0} where a prepare belongs")]
    Kind(u8),
    /// The body is checked in a way that a newer release brought.
    #[error("this release does not know body check {0}")]
    BodyCheck(u8),
    /// Bytes that must be zero are not: they come from a newer release.
    #[error("a reserved byte of a prepare header is set")]
    Reserved,
}

impl PrepareHeader {
    /// What stands before op 1 of a group: never sent, never stored, the same on every replica.
    #[must_use]
    pub fn root(group: u64, epoch: u32) -> Self {
        Self {
            checksum: 0,
            body_checksum: 0,
            parent: 0,
            client: 0,
            group,
            op: Op::ZERO,
            view: View(0),
            request: 0,
            timestamp: 0,
            commit: Op::ZERO,
            level: Level::Persisted,
            operation: 1,
            body_bytes: 0,
            epoch,
            body_check: BodyCheck::Whole,
        }
        .sealed()
    }

    /// The same header with the checksum that its fields have.
    #[must_use]
    pub fn sealed(mut self) -> Self {
        self.checksum = xxh3_128(&self.encode()[16..]);
        self
    }

    /// The bytes of the header.
    #[must_use]
    pub fn encode(&self) -> [u8; PREPARE_HEADER_BYTES] {
        let mut fields = Vec::with_capacity(PREPARE_HEADER_BYTES);
        put_u128(&mut fields, self.checksum);
        put_u128(&mut fields, self.body_checksum);
        put_u128(&mut fields, self.parent);
        put_u128(&mut fields, self.client);
        put_u64(&mut fields, self.group);
        put_u64(&mut fields, self.op.0);
        put_u64(&mut fields, self.view.0);
        put_u64(&mut fields, self.request);
        put_u64(&mut fields, self.timestamp);
        put_u64(&mut fields, self.commit.0);
        put_u8(&mut fields, KIND_PREPARE);
        put_u8(&mut fields, self.level as u8);
        put_u16(&mut fields, self.operation);
        put_u32(&mut fields, self.body_bytes);
        put_u32(&mut fields, self.epoch);
        put_u8(&mut fields, self.body_check.code());
        let mut bytes = [0; PREPARE_HEADER_BYTES];
        bytes[..fields.len()].copy_from_slice(&fields);
        bytes
    }

    /// Reads a header and holds it against its checksum.
    pub fn decode(bytes: &[u8; PREPARE_HEADER_BYTES]) -> Result<Self, PrepareRefusal> {
        let mut reader = Reader::new(bytes);
        let checksum = reader.u128()?;
        if checksum != xxh3_128(&bytes[16..]) {
            return Err(PrepareRefusal::Checksum);
        }
        let (body_checksum, parent, client) = (reader.u128()?, reader.u128()?, reader.u128()?);
        let (group, op, view) = (reader.u64()?, Op(reader.u64()?), View(reader.u64()?));
        let (request, timestamp, commit) = (reader.u64()?, reader.u64()?, Op(reader.u64()?));
        let kind = reader.u8()?;
        if kind != KIND_PREPARE {
            return Err(PrepareRefusal::Kind(kind));
        }
        let level = match reader.u8()? {
            0 => Level::Replicated,
            1 => Level::Persisted,
            other => return Err(Malformed::Value(other.into()).into()),
        };
        let (operation, body_bytes, epoch) = (reader.u16()?, reader.u32()?, reader.u32()?);
        let code = reader.u8()?;
        let body_check = BodyCheck::from_code(code).ok_or(PrepareRefusal::BodyCheck(code))?;
        if reader.bytes(reader.remaining())?.iter().any(|byte| *byte != 0) {
            return Err(PrepareRefusal::Reserved);
        }
        Ok(Self {
            checksum,
            body_checksum,
            parent,
            client,
            group,
            op,
            view,
            request,
            timestamp,
            commit,
            level,
            operation,
            body_bytes,
            epoch,
            body_check,
        })
    }

    /// Whether `body` is, byte for byte, the body this header was made for. It hashes all of the body, once.
    #[must_use]
    pub fn verifies(&self, body: &[u8]) -> bool {
        body.len() == self.body_bytes as usize && self.body_check.proves(body, self.body_checksum)
    }
}
