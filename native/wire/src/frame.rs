//! The 256-byte header in front of every frame a client sends, and what is judged about it before the body
//! arrives.
//!
//! Checksum fields and reserved bytes carry nothing on the client wire and are not read.

use thiserror::Error;

use crate::checksum::xxh3_64;
use crate::table::error::ErrorCode;
use crate::table::operation::Operation;

/// Bytes of a header, in either direction.
pub const HEADER_BYTES: usize = 256;

/// The longest frame, header included: what every client accepts without being told otherwise.
pub const FRAME_BYTES_MAX: u32 = 64 * 1024 * 1024;

/// The longest reply, header included, to a client that names itself [`UNCAPPED_SDK`].
pub const LARGE_REPLY_BYTES_MAX: u32 = 128 * 1024 * 1024;

/// The client library without a cap on replies; the Python, C++ and PHP clients are built on it. All others close the
/// connection on a frame beyond [`FRAME_BYTES_MAX`].
pub const UNCAPPED_SDK: &str = "rust-sdk";

/// [`HEADER_BYTES`] in the type of the `size` field.
pub const HEADER_SIZE: u32 = 256;

const _: () = assert!(HEADER_SIZE as usize == HEADER_BYTES);

/// The `command` byte of a frame: the kind of message, not the Iggy command it carries.
pub(crate) mod command_byte {
    pub(crate) const REQUEST: u8 = 5;
    pub(crate) const REPLY: u8 = 8;
    pub(crate) const EVICTION: u8 = 13;
}

/// Where the fields both directions share are.
pub(crate) mod offset {
    pub(crate) const SIZE: usize = 48;
    pub(crate) const COMMAND: usize = 60;
}

/// Where the fields of a request are.
mod request_offset {
    pub(super) const CLIENT: usize = 128;
    pub(super) const REQUEST_CHECKSUM: usize = 144;
    pub(super) const TIMESTAMP: usize = 160;
    pub(super) const REQUEST: usize = 168;
    pub(super) const OPERATION: usize = 176;
    pub(super) const SESSION: usize = 184;
    pub(super) const CODE: usize = 196;
}

/// A header after which the stream cannot be followed: the connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FrameFault {
    /// The frame is shorter than its header or longer than allowed.
    #[error("a frame of {0} bytes")]
    Size(u32),
    /// The frame is not a request.
    #[error("a frame with command {0}")]
    Command(u8),
}

/// The fields of a request header that mean something to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestHeader {
    /// Header and body together, in bytes.
    pub size: u32,
    /// The number the client chose for itself at its last login.
    pub client: u128,
    /// XXH3-64 of the body, or zero for not stamped.
    pub request_checksum: u128,
    /// Returned to the client as it came.
    pub timestamp: u64,
    /// The number of the request; unique only among the metadata operations of one session.
    pub request: u64,
    /// The operation byte as it came, known or not.
    pub operation: u8,
    /// What the client takes for its session. A consistency check, never a credential.
    pub session: u64,
    /// The command, where the operation is the one for commands that are not replicated.
    pub code: u32,
}

/// Whether these first bytes of a connection, one to four of them, begin a frame of the framing older clients
/// used.
///
/// That framing starts with a length, which is never zero; ours starts with a checksum no client fills in.
#[must_use]
pub fn begins_legacy(first: &[u8]) -> bool {
    first.iter().take(4).any(|byte| *byte != 0)
}

impl RequestHeader {
    /// Reads a header. Only what decides how to go on is judged: that a body can follow, and that it is a
    /// request.
    pub fn decode(bytes: &[u8; HEADER_BYTES], frame_bytes_max: u32) -> Result<Self, FrameFault> {
        let size = u32::from_le_bytes(field(bytes, offset::SIZE));
        if !(HEADER_SIZE..=frame_bytes_max).contains(&size) {
            return Err(FrameFault::Size(size));
        }
        let command = bytes[offset::COMMAND];
        if command != command_byte::REQUEST {
            return Err(FrameFault::Command(command));
        }
        Ok(Self {
            size,
            client: u128::from_le_bytes(field(bytes, request_offset::CLIENT)),
            request_checksum: u128::from_le_bytes(field(bytes, request_offset::REQUEST_CHECKSUM)),
            timestamp: u64::from_le_bytes(field(bytes, request_offset::TIMESTAMP)),
            request: u64::from_le_bytes(field(bytes, request_offset::REQUEST)),
            operation: bytes[request_offset::OPERATION],
            session: u64::from_le_bytes(field(bytes, request_offset::SESSION)),
            code: u32::from_le_bytes(field(bytes, request_offset::CODE)),
        })
    }

    /// Writes the header as a client does: unread fields zero.
    #[must_use]
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        set(&mut bytes, offset::SIZE, self.size.to_le_bytes());
        set(&mut bytes, offset::COMMAND, [command_byte::REQUEST]);
        set(&mut bytes, request_offset::CLIENT, self.client.to_le_bytes());
        set(&mut bytes, request_offset::REQUEST_CHECKSUM, self.request_checksum.to_le_bytes());
        set(&mut bytes, request_offset::TIMESTAMP, self.timestamp.to_le_bytes());
        set(&mut bytes, request_offset::REQUEST, self.request.to_le_bytes());
        set(&mut bytes, request_offset::OPERATION, [self.operation]);
        set(&mut bytes, request_offset::SESSION, self.session.to_le_bytes());
        set(&mut bytes, request_offset::CODE, self.code.to_le_bytes());
        bytes
    }

    /// Bytes of body that follow the header.
    #[must_use]
    pub const fn body_bytes(&self) -> usize {
        self.size.saturating_sub(HEADER_SIZE) as usize
    }

    /// Whether client, operation, session and request number go together; [`ErrorCode::InvalidCommand`] if
    /// not.
    pub fn check(&self) -> Result<(), ErrorCode> {
        let numbered = self.session > 0 && self.request > 0;
        let fits = match Operation::from_code(self.operation) {
            _ if self.client == 0 || self.operation == 0 => false,
            Some(Operation::Register) => self.session == 0 && self.request == 0,
            Some(Operation::NonReplicated) => true,
            _ => numbered,
        };
        if fits { Ok(()) } else { Err(ErrorCode::InvalidCommand) }
    }

    /// Holds a stamped body against its stamp; [`ErrorCode::InvalidFormat`] if they differ.
    pub fn verify_body(&self, body: &[u8]) -> Result<(), ErrorCode> {
        if self.request_checksum == 0 || self.request_checksum == u128::from(xxh3_64(body)) {
            Ok(())
        } else {
            Err(ErrorCode::InvalidFormat)
        }
    }
}

/// Copies `value` to `at`. Every offset in this crate is a constant that leaves room for its field.
pub(crate) fn set<const N: usize>(bytes: &mut [u8; HEADER_BYTES], at: usize, value: [u8; N]) {
    bytes[at..at + N].copy_from_slice(&value);
}

fn field<const N: usize>(bytes: &[u8; HEADER_BYTES], at: usize) -> [u8; N] {
    let mut value = [0; N];
    value.copy_from_slice(&bytes[at..at + N]);
    value
}
