//! Snapshots and digests.

use ng_catalog::{SnapshotRefusal, snapshot};
use proptest::prelude::*;

use crate::written::{bytes, catalog, counters, delete, partition, puts, stream, topic, user};

fn encoded(rows: &[ng_catalog::Row]) -> Vec<u8> {
    let mut bytes = Vec::new();
    snapshot::encode(&catalog(rows), &mut bytes);
    bytes
}

fn some_rows() -> Vec<ng_catalog::Row> {
    let next = ng_catalog::Row::NextUser(1);
    let streams = vec![counters(3), stream(1, "a"), topic(1, 0, "t"), partition(1, 0, 0), partition(1, 0, 1)];
    [streams, vec![next, user(0, "root")]].concat()
}

#[test]
fn a_snapshot_is_read_back() {
    for rows in [vec![], some_rows()] {
        let read = snapshot::decode(&encoded(&rows)).expect("a good snapshot");
        assert_eq!(bytes(&read), puts(&rows));
        assert_eq!(read.digest(), catalog(&rows).digest());
    }
}

#[test]
fn every_flipped_bit_and_every_cut_is_refused() {
    let good = encoded(&some_rows());
    for bit in 0..good.len() * 8 {
        let mut flipped = good.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(snapshot::decode(&flipped).is_err(), "bit {bit}");
    }
    for length in 0..good.len() {
        assert!(snapshot::decode(&good[..length]).is_err(), "{length} bytes");
    }
}

#[test]
fn a_snapshot_is_rows_in_their_order() {
    let good = encoded(&some_rows());
    let followed = [&good[..], &delete(b"nothing")].concat();
    assert_eq!(snapshot::decode(&followed).err(), Some(SnapshotRefusal::Order));
    let twice = [&good[..], &puts(&[user(0, "root")])].concat();
    assert_eq!(snapshot::decode(&twice).err(), Some(SnapshotRefusal::Order));
    let more = [&good[..], &puts(&[user(1, "bob")])].concat();
    assert!(matches!(snapshot::decode(&more), Err(SnapshotRefusal::Digest { .. })));
}

proptest! {
    #[test]
    fn a_digest_knows_no_history(order in Just((0..40_u32).collect::<Vec<_>>()).prop_shuffle(), gone in 0..40_u32) {
        let rows: Vec<_> = order.iter().map(|partition| self::partition(1, 0, *partition)).collect();
        let mut one = catalog(&[stream(1, "x"), topic(1, 0, "t")]);
        one.fold(&puts(&rows)).expect("good rows");
        one.fold(&puts(&[stream(1, "a"), counters(1)])).expect("good rows");
        let left: Vec<_> = (0..40).filter(|id| *id != gone).map(|id| partition(1, 0, id)).collect();
        let mut other = catalog(&[counters(1), stream(1, "a"), topic(1, 0, "t")]);
        other.fold(&puts(&left)).expect("good rows");
        prop_assert_ne!(one.digest(), other.digest());
        let key = ng_catalog::RowKey::Partition { stream: 1, topic: 0, partition: gone };
        one.fold(&delete(&key.bytes())).expect("a delete");
        prop_assert_eq!(one.digest(), other.digest());
    }
}
