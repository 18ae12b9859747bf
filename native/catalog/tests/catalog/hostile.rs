//! Any bytes for deltas and snapshots: a refusal changes nothing.

use ng_catalog::{FoldRefusal, Row, RowRefusal, snapshot};
use ng_wire::primitive::Malformed;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::written::{bytes, catalog, counters, delete, partition, puts, stream, topic};

fn some_rows() -> Vec<Row> {
    vec![counters(3), stream(1, "a"), topic(1, 0, "t"), partition(1, 0, 0), partition(1, 0, 1)]
}

#[test]
fn deltas_have_two_kinds() {
    let mut deltas = delete(&[1]);
    deltas[0] = 3;
    let refusal = FoldRefusal::Row(RowRefusal::Malformed(Malformed::Value(3)));
    assert_eq!(catalog(&some_rows()).fold(&deltas), Err(refusal));
}

#[test]
fn every_cut_is_refused_and_changes_nothing() {
    let (first, last) = (delete(&[]), puts(&[stream(7, "seven")]));
    let deltas = [&first[..], &last].concat();
    let before = some_rows();
    for length in 0..deltas.len() {
        let mut catalog = catalog(&before);
        let whole = length == 0 || length == first.len();
        assert_eq!(catalog.fold(&deltas[..length]).is_ok(), whole, "{length} bytes");
        let left = if length == first.len() { vec![] } else { before.clone() };
        assert_eq!(bytes(&catalog), puts(&left), "{length} bytes");
    }
}

proptest! {
    #[test]
    fn no_bytes_make_a_fold_panic(deltas in vec(any::<u8>(), 0..200)) {
        let mut catalog = catalog(&some_rows());
        if catalog.fold(&deltas).is_err() {
            prop_assert_eq!(bytes(&catalog), puts(&some_rows()));
        }
        let _ = snapshot::decode(&deltas);
    }

    #[test]
    fn no_changed_byte_makes_a_fold_panic(
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4), cut in any::<prop::sample::Index>()
    ) {
        let rows = [stream(1, "b"), stream(2, "a"), topic(2, 0, "t"), partition(2, 0, 0)];
        let mut deltas = [puts(&rows), delete(&[1, 0, 0, 0, 2]), puts(&rows)].concat();
        for (at, byte) in changes {
            let at = at.index(deltas.len());
            deltas[at] = byte;
        }
        deltas.truncate(cut.index(deltas.len() * 4));
        let mut catalog = catalog(&some_rows());
        if catalog.fold(&deltas).is_err() {
            prop_assert_eq!(bytes(&catalog), puts(&some_rows()));
            prop_assert_eq!(catalog.digest(), self::catalog(&some_rows()).digest());
        }
    }
}
