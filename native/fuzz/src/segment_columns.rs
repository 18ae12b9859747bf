//! What the bytes of a segment must not be able to do to a reader of columns.

use ng_storage::columns::{Columns, Layout, Selection, Stop, Walk, decode, seek};
use ng_storage::compaction::{Identifier, KeyRule, Newest, note};
use ng_storage::rewrite::{compact, rewrite};
use ng_wire::batch::{BATCH_HEADER_BYTES, BatchHeader, Messages, verify};

/// Takes the first bytes for what is asked and the rest for a segment; also with its checksums made right, as somebody
/// would who means harm.
pub(crate) fn segment_columns(bytes: &[u8]) {
    let Some((asked, segment)) = bytes.split_first_chunk::<4>() else { return };
    read(*asked, segment);
    read(*asked, &sealed(segment));
}

/// The bytes as a batch whose length and checksums are right, whatever else is not.
fn sealed(bytes: &[u8]) -> Vec<u8> {
    let mut batch = bytes.to_vec();
    if batch.len() < BATCH_HEADER_BYTES {
        return batch;
    }
    let length = (batch.len() as u64).to_le_bytes();
    batch[32..40].copy_from_slice(&length);
    batch[52..BATCH_HEADER_BYTES].fill(0);
    let Ok(header) = BatchHeader::decode(&batch) else { return batch };
    let mut at = BATCH_HEADER_BYTES;
    let mut sums = Vec::new();
    for message in Messages::new(&bytes[at..], header.count) {
        let Ok(message) = message else { return batch };
        sums.push((at, ng_wire::checksum::xxh3_64(&message.bytes[8..])));
        at += message.bytes.len();
    }
    for (at, sum) in sums {
        batch[at..at + 8].copy_from_slice(&sum.to_le_bytes());
    }
    if let Ok(header) = header.sealed(&batch[BATCH_HEADER_BYTES..]) {
        batch[..BATCH_HEADER_BYTES].copy_from_slice(&header.encode());
    }
    batch
}

fn read(asked: [u8; 4], segment: &[u8]) {
    let [low, high, rows, first] = asked;
    let walk =
        Walk { valid: segment.len() as u64 + u64::from(high >> 1), after: 0, partition: 0, hashed: true };
    let selection = Selection {
        columns: Columns(u32::from(low) | u32::from(high & 1) << 8),
        rows_max: usize::from(rows) + 1,
        first_offset: u64::from(first),
        end_offset: u64::MAX,
        min_timestamp: 0,
        max_timestamp: u64::MAX,
        key: rule(low),
    };
    let mut arena = vec![0; Layout::new(selection.columns, selection.rows_max, segment.len()).size];
    let decoded = decode(segment, &walk, &selection, &mut arena).expect("as long as it must be");
    assert!(decoded.rows <= selection.rows_max && decoded.consumed <= segment.len());
    assert!(decoded.rows == 0 || verify_any(segment), "rows come from whole batches");
    if let Stop::More(wanted) = decoded.stop {
        assert!(wanted > (segment.len() - decoded.consumed) as u64);
    }
    let _ = seek(segment, &walk, u64::from(first));
    let mut into = Vec::new();
    let kept: Vec<u8> = (0..256_u64).flat_map(u64::to_le_bytes).collect();
    let done = rewrite(segment, &walk, &kept, &mut into);
    assert!(into.len() <= segment.len() && done.messages <= 256);
    assert_eq!(into.is_empty(), done.messages == 0);
    newest_of(segment, &walk, &Identifier { rule: rule(low), by_id: high & 1 == 1 });
}

fn rule(number: u8) -> KeyRule<'static> {
    match number % 4 {
        0 => KeyRule::Header(b"key"),
        1 => KeyRule::Id,
        2 => KeyRule::Json("/a/0"),
        _ => KeyRule::Json("/k"),
    }
}

fn newest_of(segment: &[u8], walk: &Walk, identifier: &Identifier<'_>) {
    let mut bytes = vec![0; 4096];
    let mut table = Newest::begin(&mut bytes, 1).expect("enough bytes");
    let noted = note(segment, walk, identifier, &mut table);
    assert!(table.len() as u64 <= noted.identified || noted.stop == Stop::Full);
    let newest: Vec<u8> = table.winners(0).into_iter().flat_map(u64::to_le_bytes).collect();
    let mut into = Vec::new();
    let done = compact(segment, walk, identifier, false, &newest, &mut into);
    if noted.stop == Stop::End {
        assert_eq!(done.messages, noted.messages - noted.identified + table.len() as u64);
    }
    if noted.stop == Stop::End && noted.identified == noted.after {
        let mut same = Vec::new();
        let done_unread = compact(segment, walk, identifier, true, &newest, &mut same);
        assert_eq!((done_unread.messages, same), (done.messages, into));
    }
}

fn verify_any(segment: &[u8]) -> bool {
    let length = BatchHeader::decode(segment).map_or(0, |header| usize::try_from(header.length).unwrap_or(0));
    segment.get(..length).is_some_and(|batch| verify(batch).is_ok())
}
