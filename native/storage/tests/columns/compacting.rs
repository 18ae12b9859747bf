//! Segments compacted to the newest message of each key, against a dictionary.

use std::collections::BTreeMap;

use ng_storage::columns::{Selection, Stop};
use ng_storage::compaction::{Identifier, KeyRule, Newest, note};
use ng_storage::rewrite::compact;
use ng_wire::batch::{BatchBuilder, stamp};
use proptest::prelude::*;

use crate::segment::{EVERYTHING, PARTITION, Row, call, header, walk};

const BY_HEADER: Identifier<'static> = Identifier { rule: KeyRule::Header(b"key"), by_id: false };

/// Key, whether it deletes it, and id of a message.
type Sent = (Option<u8>, bool, u8);

/// Batches of such messages, each batch a microsecond younger than the one before.
fn segment(batches: &[Vec<Sent>]) -> Vec<u8> {
    let (mut bytes, mut base) = (Vec::new(), 100);
    for (number, messages) in (0_u64..).zip(batches) {
        let mut batch = BatchBuilder::new(0);
        for (key, deletes, id) in messages {
            let headers = key.map_or(vec![], |key| header(b"key", 1, &[key]));
            let payload = if *deletes { &b""[..] } else { b"payload" };
            batch = batch.message(u128::from(*id), 0, payload, &headers);
        }
        let mut batch = batch.finish();
        stamp(&mut batch, PARTITION, base, 1_000 + number).expect("a good batch");
        bytes.extend_from_slice(&batch);
        base += messages.len() as u64 + 3;
    }
    bytes
}

/// What a table says of segments, in pieces that end anywhere; it begins small and grows.
fn newest(segments: &[&[u8]], identifier: &Identifier<'_>, horizon: u64) -> (Vec<u64>, u64) {
    let mut bytes = vec![0; 1024];
    Newest::begin(&mut bytes, 99).expect("enough bytes");
    let (mut identified, mut seed) = (0, 0);
    for segment in segments {
        let (mut at, mut walk) = (0, walk(segment.len()));
        loop {
            let mut table = Newest::open(&mut bytes).expect("a table");
            let noted = note(&segment[at..], &walk, identifier, &mut table);
            identified += noted.identified;
            at += noted.consumed;
            (walk.after, walk.valid) = (noted.after, (segment.len() - at) as u64);
            match noted.stop {
                Stop::End => break,
                Stop::Full => {
                    seed += 1;
                    let mut larger = vec![0; bytes.len() * 2];
                    let mut other = Newest::begin(&mut larger, seed).expect("enough bytes");
                    Newest::open(&mut bytes).expect("a table").move_into(&mut other).expect("room");
                    bytes = larger;
                }
                stop => panic!("{stop:?}"),
            }
        }
    }
    (Newest::open(&mut bytes).expect("a table").winners(horizon), identified)
}

fn compacted(segment: &[u8], identifier: &Identifier<'_>, newest: &[u64]) -> (Vec<u8>, Vec<Row>) {
    let newest: Vec<u8> = newest.iter().flat_map(|offset| offset.to_le_bytes()).collect();
    let mut into = Vec::new();
    let done = compact(segment, &walk(segment.len()), identifier, false, &newest, &mut into);
    assert_eq!((done.stop, done.consumed), (Stop::End, segment.len()));
    let (rows, read) = call(&into, &walk(into.len()), &EVERYTHING);
    assert_eq!((read.stop, done.messages), (Stop::End, rows.len() as u64));
    let times = rows.iter().map(|row| row.timestamp.unsigned_abs());
    assert_eq!(done.times, times.clone().min().zip(times.max()));
    (into, rows)
}

fn sent() -> impl Strategy<Value = Vec<Vec<Sent>>> {
    let message = (prop::option::of(0_u8..20), prop::bool::weighted(0.2), 0_u8..8);
    prop::collection::vec(prop::collection::vec(message, 1..12), 1..12)
}

proptest! {
    #[test]
    fn the_newest_of_each_key_stays(batches in sent(), by_id: bool, age in 0_u64..12, split in 0_usize..12) {
        let horizon = 1_000 + age;
        let whole = segment(&batches);
        let (all, _) = call(&whole, &walk(whole.len()), &EVERYTHING);
        let identity = |row: &Row| match &row.key {
            Some(key) => Some((0, key.clone())),
            None => by_id.then(|| (1, row.id.clone())),
        };
        let mut expected = BTreeMap::new();
        for row in all.iter().filter_map(|row| identity(row).map(|identity| (identity, row))) {
            expected.insert(row.0, row.1);
        }
        let stays = |row: &Row| match identity(row) {
            None => true,
            Some(identity) => {
                let gone = row.key.is_some() && row.tombstone && row.timestamp.unsigned_abs() < horizon;
                expected[&identity].offset == row.offset && !gone
            }
        };
        let survivors: Vec<Row> = all.iter().filter(|row| stays(row)).cloned().collect();
        let identifier = Identifier { by_id, ..BY_HEADER };
        let split = split.min(batches.len() - 1);
        let front = segment(&batches[..split]).len();
        let (offsets, identified) = newest(&[&whole[..front], &whole[front..]], &identifier, horizon);
        prop_assert_eq!(identified, all.iter().filter_map(identity).count() as u64);
        let (bytes, rows) = compacted(&whole, &identifier, &offsets);
        prop_assert_eq!(rows, survivors);
        prop_assert_eq!(compacted(&bytes, &identifier, &offsets).0, bytes, "again it changes nothing");
    }
}

/// Batches of messages that all have a key, one offset behind the other.
fn dense_segment(batches: &[Vec<u8>]) -> Vec<u8> {
    let (mut bytes, mut base) = (Vec::new(), 100);
    for keys in batches {
        let mut batch = BatchBuilder::new(0);
        for key in keys {
            batch = batch.message(1, 0, b"payload", &header(b"key", 1, &[*key]));
        }
        let mut batch = batch.finish();
        stamp(&mut batch, PARTITION, base, 1_000).expect("a good batch");
        bytes.extend_from_slice(&batch);
        base += keys.len() as u64;
    }
    bytes
}

proptest! {
    #[test]
    fn what_is_dead_by_its_header_is_not_read(
        batches in prop::collection::vec(prop::collection::vec(0_u8..9, 1..6), 1..20), piece_bytes in 256_usize..2_000,
    ) {
        let whole = dense_segment(&batches);
        let (offsets, _) = newest(&[&whole], &BY_HEADER, 0);
        let (expected, _) = compacted(&whole, &BY_HEADER, &offsets);
        let kept: Vec<u8> = offsets.iter().flat_map(|offset| offset.to_le_bytes()).collect();
        let (mut into, mut at, mut wanted, mut walk) = (Vec::new(), 0, 0, walk(whole.len()));
        loop {
            let end = whole.len().min(at + piece_bytes.max(wanted));
            let done = compact(&whole[at..end], &walk, &BY_HEADER, true, &kept, &mut into);
            at += done.consumed;
            (walk.after, walk.valid) = (done.after, (whole.len() - at) as u64);
            match done.stop {
                Stop::End => break,
                Stop::More(bytes) => wanted = usize::try_from(bytes).expect("a short batch"),
                stop => prop_assert!(false, "{:?}", stop),
            }
        }
        prop_assert_eq!((at, walk.after), (whole.len(), 100 + batches.concat().len() as u64));
        prop_assert_eq!(into, expected);
    }
}

#[test]
fn the_body_of_a_dead_batch_may_be_anything() {
    let mut bytes = dense_segment(&[vec![1, 2], vec![1, 2], vec![3]]);
    bytes[300] ^= 1;
    let newest: Vec<u8> = [102_u64, 103, 104].into_iter().flat_map(u64::to_le_bytes).collect();
    let mut into = Vec::new();
    let done = compact(&bytes, &walk(bytes.len()), &BY_HEADER, true, &newest, &mut into);
    assert_eq!((done.stop, done.messages, done.after), (Stop::End, 3, 105));
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    let done = compact(&bytes, &walk(bytes.len()), &BY_HEADER, true, &newest, &mut into);
    assert!(matches!(done.stop, Stop::Damaged(_)), "what stays is verified: {done:?}");
}

#[test]
fn without_keys_nothing_is_replaced() {
    let bytes = segment(&[vec![(Some(1), false, 1), (Some(1), true, 1)], vec![(None, false, 1)]]);
    let nothing = Identifier { rule: KeyRule::Nothing, by_id: false };
    assert_eq!(newest(&[&bytes], &nothing, u64::MAX), (vec![], 0));
    assert_eq!(compacted(&bytes, &nothing, &[]).0, bytes);
}

#[test]
fn keys_are_ids_or_parts_of_a_payload() {
    let mut batch = BatchBuilder::new(0);
    for (id, payload) in
        [(1, r#"{"k":"a"}"#), (2, r#"{"k":7}"#), (1, r#"{"k":"7"}"#), (3, "no json"), (3, r#"{"k":null}"#)]
    {
        batch = batch.message(id, 0, payload.as_bytes(), &[]);
    }
    let mut bytes = batch.finish();
    stamp(&mut bytes, PARTITION, 10, 5).expect("a good batch");
    let id = Identifier { rule: KeyRule::Id, by_id: false };
    assert_eq!(newest(&[&bytes], &id, 0), (vec![11, 12, 14], 5));
    let json = Identifier { rule: KeyRule::Json("/k"), by_id: false };
    assert_eq!(newest(&[&bytes], &json, 0), (vec![10, 12], 3));
    let (_, rows) = compacted(&bytes, &json, &[10, 12]);
    assert_eq!(rows.iter().map(|row| row.offset).collect::<Vec<_>>(), [10, 12, 13, 14]);
    let (rows, _) = call(&bytes, &walk(bytes.len()), &Selection { key: KeyRule::Json("/k"), ..EVERYTHING });
    let keys: Vec<_> = rows.into_iter().map(|row| row.key).collect();
    assert_eq!(keys, [Some(b"a".to_vec()), Some(b"7".to_vec()), Some(b"7".to_vec()), None, None]);
}

#[test]
fn rules_have_names() {
    for (text, rule) in [
        ("none", Some(KeyRule::Nothing)),
        ("id", Some(KeyRule::Id)),
        ("header:a:b", Some(KeyRule::Header(b"a:b"))),
        ("json:/a", Some(KeyRule::Json("/a"))),
        ("json:", Some(KeyRule::Json(""))),
        ("json:a", None),
        ("header:", None),
        ("header", None),
        ("", None),
    ] {
        assert_eq!(KeyRule::of(text), rule, "{text}");
    }
}

#[test]
fn what_rotted_is_neither_counted_nor_sealed_again() {
    let mut bytes = segment(&[vec![(Some(1), false, 1)], vec![(Some(2), false, 2)]]);
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    let mut table = vec![0; 1024];
    let mut table = Newest::begin(&mut table, 1).expect("enough bytes");
    let noted = note(&bytes, &walk(bytes.len()), &BY_HEADER, &mut table);
    assert!(matches!(noted.stop, Stop::Damaged(_)));
    assert_eq!((noted.identified, table.len()), (1, 1));
    let mut into = Vec::new();
    let done = compact(&bytes, &walk(bytes.len()), &BY_HEADER, false, &100_u64.to_le_bytes(), &mut into);
    assert!(matches!(done.stop, Stop::Damaged(_)));
    assert_eq!(done.messages, 1);
}
