//! What deltas say of themselves before they are folded.

use std::collections::BTreeSet;

use ng_catalog::{Catalog, Reach, RowKey};

use crate::written::{catalog, counters, delete, partition, puts, stream, topic, user};

fn rows() -> Catalog {
    catalog(&[
        counters(1),
        stream(1, "a"),
        topic(1, 0, "t"),
        partition(1, 0, 0),
        partition(1, 0, 1),
        topic(1, 1, "u"),
        partition(1, 1, 2),
        stream(2, "b"),
        topic(2, 0, "v"),
        partition(2, 0, 3),
    ])
}

fn reach(topics: &[(u32, u32)], gone: &[u64]) -> Reach {
    Reach { topics: BTreeSet::from_iter(topics.iter().copied()), gone: gone.to_vec() }
}

#[test]
fn a_put_reaches_its_topic_alone() {
    let rows = rows();
    assert_eq!(rows.reach(&puts(&[counters(2), stream(1, "c"), user(1, "d")])), reach(&[], &[]));
    assert_eq!(rows.reach(&puts(&[topic(1, 1, "w")])), reach(&[(1, 1)], &[]));
    assert_eq!(rows.reach(&puts(&[partition(1, 0, 7), partition(1, 0, 8)])), reach(&[(1, 0)], &[]));
}

#[test]
fn a_delete_names_the_groups_that_go() {
    let rows = rows();
    for (key, topics, gone) in [
        (RowKey::Counters, &[][..], &[][..]),
        (RowKey::Stream(1), &[(1, 0), (1, 1)], &[4096, 4097, 4098]),
        (RowKey::Topic { stream: 1, topic: 1 }, &[(1, 1)], &[4098]),
        (RowKey::Partition { stream: 1, topic: 0, partition: 1 }, &[(1, 0)], &[4097]),
        (RowKey::Stream(9), &[], &[]),
        (RowKey::User(1), &[], &[]),
        (RowKey::NextUser, &[], &[]),
    ] {
        assert_eq!(rows.reach(&delete(&key.bytes())), reach(topics, gone), "{key:?}");
    }
    let all = rows.reach(&delete(&[]));
    assert_eq!(all, reach(&[(1, 0), (1, 1), (2, 0)], &[4096, 4097, 4098, 4099]));
}

#[test]
fn bytes_that_are_no_deltas_reach_nowhere() {
    assert_eq!(rows().reach(&[1, 2, 3]), Reach::default());
    assert_eq!(rows().reach(&delete(&[9, 9])), Reach::default());
}
