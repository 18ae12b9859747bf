//! What becomes a row: all of it, and what was asked for, in pieces of any length.

use ng_storage::columns::{Columns, Selection, Stop, Walk, decode};
use ng_wire::batch::{BatchBuilder, stamp};
use proptest::prelude::*;

use crate::segment::{EVERYTHING, PARTITION, Row, call, expected, segment, walk};

/// Reads a segment as a reader outside does: by pieces that grow when a batch asks for it.
fn read(segment: &[u8], piece: usize, selection: &Selection<'_>) -> Vec<Row> {
    let (mut rows, mut at, mut length) = (Vec::new(), 0, piece);
    let (mut walk, mut selection) = (walk(segment.len()), *selection);
    loop {
        let end = (at + length).min(segment.len());
        let (some, decoded) = call(&segment[at..end], &walk, &selection);
        assert!(some.len() <= selection.rows_max);
        rows.extend(some);
        at += decoded.consumed;
        walk.valid -= decoded.consumed as u64;
        walk.after = decoded.after;
        selection.first_offset = decoded.first_offset;
        match decoded.stop {
            Stop::End => return rows,
            Stop::Full => {}
            Stop::More(bytes) => {
                assert!(decoded.consumed > 0 || bytes > length as u64, "no progress");
                length = piece.max(usize::try_from(bytes).expect("a length"));
            }
            Stop::Damaged(refusal) => panic!("{refusal}"),
        }
    }
}

#[test]
fn every_field_of_every_message() {
    let bytes = segment(&[1, 7, 40]);
    assert_eq!(read(&bytes, bytes.len(), &EVERYTHING), expected(&bytes));
}

#[test]
fn a_column_alone_is_as_it_is_among_the_others() {
    let bytes = segment(&[6, 6]);
    for column in 0..9 {
        let selection = Selection { columns: Columns(1 << column), ..EVERYTHING };
        let alone = read(&bytes, bytes.len(), &selection);
        let has = |other: Columns| selection.columns.has(other);
        let among = expected(&bytes).into_iter().map(|row| Row {
            offset: if has(Columns::OFFSET) { row.offset } else { 0 },
            timestamp: if has(Columns::TIMESTAMP) { row.timestamp } else { 0 },
            origin: if has(Columns::ORIGIN) { row.origin } else { 0 },
            id: if has(Columns::ID) { row.id } else { vec![] },
            value: if has(Columns::VALUE) { row.value } else { vec![] },
            key: row.key.filter(|_| has(Columns::KEY)),
            tombstone: row.tombstone && has(Columns::TOMBSTONE),
            user_headers: if has(Columns::USER_HEADERS) { row.user_headers } else { vec![] },
            headers: row.headers.filter(|_| has(Columns::HEADERS)),
        });
        assert_eq!(alone, among.collect::<Vec<_>>(), "column {column}");
    }
}

#[test]
fn no_columns_are_a_count() {
    let bytes = segment(&[3, 4, 5]);
    let selection = Selection { columns: Columns(0), ..EVERYTHING };
    let decoded = decode(&bytes, &walk(bytes.len()), &selection, &mut []).expect("no room is needed");
    assert_eq!((decoded.rows, decoded.consumed, decoded.stop), (12, bytes.len(), Stop::End));
}

#[test]
fn an_arena_that_is_too_short_is_refused() {
    let bytes = segment(&[3]);
    assert_eq!(decode(&bytes, &walk(bytes.len()), &EVERYTHING, &mut [0; 64]), None);
}

#[test]
fn times_are_those_of_batches() {
    let bytes = segment(&[3, 4, 5]);
    let selection = Selection { min_timestamp: 2_001, max_timestamp: 2_001, ..EVERYTHING };
    assert_eq!(read(&bytes, bytes.len(), &selection), expected(&bytes)[3..7]);
}

#[test]
fn what_a_long_cannot_hold_is_damage_or_the_last_time() {
    let stamped = |base: u64| {
        let mut batch = BatchBuilder::new(u64::MAX).message(1, 1, b"x", b"").finish();
        stamp(&mut batch, PARTITION, base, u64::MAX).expect("a good batch");
        batch
    };
    let last = stamped(u64::MAX / 2);
    let (rows, decoded) = call(&last, &walk(last.len()), &EVERYTHING);
    let times: Vec<_> = rows.iter().map(|row| (row.offset, row.timestamp, row.origin)).collect();
    assert_eq!((times, decoded.stop), (vec![(i64::MAX, i64::MAX, i64::MAX)], Stop::End));
    let beyond = stamped(u64::MAX / 2 + 1);
    let (rows, decoded) = call(&beyond, &walk(beyond.len()), &EVERYTHING);
    assert!(rows.is_empty() && matches!(decoded.stop, Stop::Damaged(_)), "{decoded:?}");
}

#[test]
fn batches_out_of_place_are_damage() {
    let bytes = segment(&[3]);
    for wrong in [Walk { partition: 4, ..walk(bytes.len()) }, Walk { after: 11, ..walk(bytes.len()) }] {
        let (rows, decoded) = call(&bytes, &wrong, &EVERYTHING);
        assert!(rows.is_empty() && matches!(decoded.stop, Stop::Damaged(_)), "{decoded:?}");
    }
}

proptest! {
    #[test]
    fn a_selection_in_pieces_is_a_part_of_the_whole(
        batches in proptest::collection::vec(1_u32..20, 1..6),
        piece in 1_usize..4_000,
        rows_max in 1_usize..30,
        first in 0_u64..100,
        span in 0_u64..100,
    ) {
        let bytes = segment(&batches);
        let selection = Selection { rows_max, first_offset: first, end_offset: first + span, ..EVERYTHING };
        let wanted = |row: &Row| (first..first + span).contains(&row.offset.unsigned_abs());
        let part: Vec<_> = expected(&bytes).into_iter().filter(wanted).collect();
        prop_assert_eq!(read(&bytes, piece, &selection), part);
    }
}
