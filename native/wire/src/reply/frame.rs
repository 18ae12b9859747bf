//! The frames: a reply that carries a body, the two refusals, and the eviction.

use crate::frame::{FRAME_BYTES_MAX, HEADER_BYTES, HEADER_SIZE, RequestHeader, command_byte, offset, set};
use crate::reply::result::{REJECTION_BYTES, put_rejection, put_success};
use crate::table::error::ErrorCode;
use crate::table::eviction::EvictionReason;
use crate::table::operation::Operation;
use crate::version;

/// Where the fields of a reply are.
mod reply_offset {
    pub(super) const REQUEST_CHECKSUM: usize = 128;
    pub(super) const CLIENT: usize = 160;
    pub(super) const OP: usize = 176;
    pub(super) const COMMIT: usize = 184;
    pub(super) const TIMESTAMP: usize = 192;
    pub(super) const REQUEST: usize = 200;
    pub(super) const OPERATION: usize = 208;
    pub(super) const STATUS: usize = 216;
}

/// Where the fields of an eviction are.
mod eviction_offset {
    pub(super) const CLIENT: usize = 128;
    pub(super) const VERSION_MAX: usize = 144;
    pub(super) const VERSION_MIN: usize = 148;
    pub(super) const REASON: usize = 255;
}

/// Where the log stood when a reply was made. Clients keep the highest `commit` of their metadata replies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// The operation's own place in the log.
    pub op: u64,
    /// What is committed.
    pub commit: u64,
}

/// Appends the answer to a command that was done; `write` appends the payload.
///
/// The empty result section goes in front of the payload where clients expect one. If a client might not accept a payload
/// of its length, it is withheld, and the request is answered with [`ErrorCode::CommandLengthError`].
pub fn ok(into: &mut Vec<u8>, request: &RequestHeader, at: Position, write: impl FnOnce(&mut Vec<u8>)) {
    ok_within(FRAME_BYTES_MAX, into, request, at, write);
}

/// The same for a client that takes reply frames of up to `frame_bytes_max`.
pub fn ok_within(
    frame_bytes_max: u32,
    into: &mut Vec<u8>,
    request: &RequestHeader,
    at: Position,
    write: impl FnOnce(&mut Vec<u8>),
) {
    let start = into.len();
    into.extend_from_slice(&[0; HEADER_BYTES]);
    if Operation::from_code(request.operation).is_some_and(Operation::has_result_section) {
        put_success(into);
    }
    write(into);
    let Some(body_bytes) = body_size(into.len() - start, frame_bytes_max) else {
        into.truncate(start);
        return denied(into, request, ErrorCode::CommandLengthError);
    };
    let header = header(request, at, body_bytes, 0);
    into[start..start + HEADER_BYTES].copy_from_slice(&header);
}

/// Appends the answer to a request that was refused before it was tried.
pub fn denied(into: &mut Vec<u8>, request: &RequestHeader, status: ErrorCode) {
    into.extend_from_slice(&header(request, Position::default(), 0, status.code()));
}

/// Appends the answer to a command that was ordered and could not be done: a result section with one entry.
///
/// For operations with a result section only; clients take it for the payload of any other.
pub fn rejected(into: &mut Vec<u8>, request: &RequestHeader, at: Position, result: ErrorCode) {
    into.extend_from_slice(&header(request, at, REJECTION_BYTES, 0));
    put_rejection(into, result);
}

/// Appends an eviction. The window of versions goes with [`EvictionReason::IncompatibleProtocol`] and no
/// other reason.
///
/// An eviction carries no request number: it answers the request a client waits for, or is followed by a
/// close.
pub fn evicted(into: &mut Vec<u8>, client: u128, reason: EvictionReason) {
    let mut bytes = [0; HEADER_BYTES];
    set(&mut bytes, offset::SIZE, HEADER_SIZE.to_le_bytes());
    set(&mut bytes, offset::COMMAND, [command_byte::EVICTION]);
    set(&mut bytes, eviction_offset::CLIENT, client.to_le_bytes());
    if reason == EvictionReason::IncompatibleProtocol {
        set(&mut bytes, eviction_offset::VERSION_MAX, version::MAX.packed().to_le_bytes());
        set(&mut bytes, eviction_offset::VERSION_MIN, version::MIN.packed().to_le_bytes());
    }
    set(&mut bytes, eviction_offset::REASON, [reason.code()]);
    into.extend_from_slice(&bytes);
}

fn header(request: &RequestHeader, at: Position, body_bytes: u32, status: u32) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    set(&mut bytes, offset::SIZE, (HEADER_SIZE + body_bytes).to_le_bytes());
    set(&mut bytes, offset::COMMAND, [command_byte::REPLY]);
    set(&mut bytes, reply_offset::REQUEST_CHECKSUM, request.request_checksum.to_le_bytes());
    set(&mut bytes, reply_offset::CLIENT, request.client.to_le_bytes());
    set(&mut bytes, reply_offset::OP, at.op.to_le_bytes());
    set(&mut bytes, reply_offset::COMMIT, at.commit.to_le_bytes());
    set(&mut bytes, reply_offset::TIMESTAMP, request.timestamp.to_le_bytes());
    set(&mut bytes, reply_offset::REQUEST, request.request.to_le_bytes());
    set(&mut bytes, reply_offset::OPERATION, [request.operation]);
    set(&mut bytes, reply_offset::STATUS, status.to_le_bytes());
    bytes
}

/// The length of the body of a frame, unless the frame is too long.
fn body_size(frame_bytes: usize, frame_bytes_max: u32) -> Option<u32> {
    let frame_bytes = u32::try_from(frame_bytes).ok().filter(|bytes| *bytes <= frame_bytes_max)?;
    frame_bytes.checked_sub(HEADER_SIZE)
}
