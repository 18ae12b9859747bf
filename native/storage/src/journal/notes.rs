//! Notes that a record cannot be read: they carry its header, so that a peer can be asked for it and nobody denies it.

use crate::record::{RECORD_HEADER, RecordHeader, RecordKind};

/// A note about a record, and the note's body.
pub(super) fn of(lost: &RecordHeader) -> (RecordHeader, Vec<u8>) {
    let mut body = Vec::with_capacity(RECORD_HEADER);
    lost.encode(&mut body);
    let RecordHeader { group, op, view, epoch, .. } = *lost;
    let note = RecordHeader { op, view, epoch, ..RecordHeader::of(RecordKind::Damaged, group, &body) };
    (note, body)
}

/// The record that a note is about, and its identity; `None` if this is no note, or one that cannot be read itself.
pub(super) fn lost(note: &RecordHeader, body: &[u8]) -> Option<(RecordHeader, u128)> {
    let (lost, checksum) = match note.kind {
        RecordKind::Damaged => RecordHeader::decode(body).ok()?,
        _ => return None,
    };
    let is_subject = lost.group == note.group && !matches!(lost.kind, RecordKind::Damaged | RecordKind::Mark);
    is_subject.then_some((lost, checksum))
}
