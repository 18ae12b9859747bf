//! What any bytes a client sends must not be able to do to the decoder.

use ng_wire::frame::{FRAME_BYTES_MAX, FrameFault, HEADER_BYTES, RequestHeader, begins_legacy};
use ng_wire::reply::{Position, denied, ok};
use ng_wire::table::command::Command;
use ng_wire::table::operation::Operation;

use super::request_body::request_body;

/// Takes `bytes` for what arrives on a new connection: a header, then as much of a body as there is.
pub fn client_frame(bytes: &[u8]) {
    let arrived = bytes.len().min(4);
    assert_eq!(begins_legacy(bytes), bytes[..arrived].iter().any(|byte| *byte != 0));
    let Some((head, body)) = bytes.split_first_chunk::<HEADER_BYTES>() else { return };
    let header = match RequestHeader::decode(head, FRAME_BYTES_MAX) {
        Ok(header) => header,
        Err(FrameFault::Size(size)) => return assert!(!(256..=FRAME_BYTES_MAX).contains(&size)),
        Err(FrameFault::Command(command)) => return assert_ne!(command, 5),
    };
    assert!(header.body_bytes() <= FRAME_BYTES_MAX as usize - HEADER_BYTES);
    assert_eq!(RequestHeader::decode(&header.encode(), FRAME_BYTES_MAX), Ok(header));
    // A frame that is not stamped cannot have a wrong stamp.
    assert!(header.request_checksum != 0 || header.verify_body(body).is_ok());
    replies(&header, body);
    // A server stops at a wrong stamp. Here the body is read all the same: no mutation would find a right one.
    if resolved(&header).is_some() {
        request_body(body);
    }
}

/// Holds the replies the frame can get against it.
fn replies(header: &RequestHeader, body: &[u8]) {
    let mut frames = Vec::new();
    ok(&mut frames, header, Position::default(), |into| into.extend_from_slice(b"body"));
    assert!(frames.len() == HEADER_BYTES + 4 || frames[HEADER_BYTES..] == *b"\0\0\0\0body");
    assert_eq!(frames[208], header.operation);
    if let Err(status) = header.check().and_then(|()| header.verify_body(body)) {
        frames.clear();
        denied(&mut frames, header, status);
        assert_eq!((frames.len(), &frames[216..220]), (HEADER_BYTES, &status.code().to_le_bytes()[..]));
    }
}

/// The command of a header that passes its checks.
fn resolved(header: &RequestHeader) -> Option<Command> {
    header.check().ok()?;
    let command = Command::resolve(header).ok()?;
    let operation = command.row().operation;
    assert_eq!(operation.code(), header.operation);
    assert!(operation != Operation::NonReplicated || command.code() == header.code);
    Some(command)
}
