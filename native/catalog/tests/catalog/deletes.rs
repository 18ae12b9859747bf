//! Deletes: of a row and what it holds, and of prefixes that end anywhere.

use ng_catalog::{Catalog, Row, RowKey, deltas::put_delete};

use crate::written::{bytes, catalog, counters, delete, partition, puts, stream, topic, user};

fn two_streams() -> Vec<Row> {
    vec![
        counters(1),
        stream(1, "a"),
        topic(1, 0, "t"),
        partition(1, 0, 0),
        partition(1, 0, 256),
        topic(1, 1, "u"),
        partition(1, 1, 0),
        stream(256, "b"),
        topic(256, 0, "t"),
        Row::NextUser(257),
        user(0, "root"),
        user(256, "a"),
    ]
}

fn without(prefix: &[u8]) -> Catalog {
    let mut catalog = catalog(&two_streams());
    catalog.fold(&delete(prefix)).expect("a delete");
    catalog
}

#[test]
fn what_a_row_holds_goes_with_it() {
    for (key, gone) in [
        (RowKey::Counters, 0..1),
        (RowKey::Stream(1), 1..7),
        (RowKey::Topic { stream: 1, topic: 0 }, 2..5),
        (RowKey::Partition { stream: 1, topic: 0, partition: 256 }, 4..5),
        (RowKey::Stream(256), 7..9),
        (RowKey::Stream(2), 0..0),
        (RowKey::User(256), 11..12),
        (RowKey::User(1), 0..0),
    ] {
        let mut left = two_streams();
        left.drain(gone);
        assert_eq!(bytes(&without(&key.bytes())), puts(&left), "{key:?}");
        let mut written = Vec::new();
        put_delete(&mut written, key);
        assert_eq!(written, delete(&key.bytes()));
    }
}

#[test]
fn a_prefix_may_end_within_a_key() {
    for (prefix, gone) in [
        (&[][..], 0..12),
        (&[1], 1..9),
        (&[1, 0, 0, 0], 1..7),
        (&[1, 0, 0, 1], 7..9),
        (&[1, 0, 0, 0, 1, 1], 2..7),
        (&[1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1], 3..5),
        (&[1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 1], 4..5),
        (&[1, 0, 0, 0, 1, 2], 0..0),
        (&[1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0], 0..0),
        (&[0, 0], 0..0),
        (&[2], 9..12),
        (&[2, 0, 0, 0], 10..11),
        (&[2, 0, 0, 1], 11..12),
        (&[3], 0..0),
    ] {
        let mut left = two_streams();
        left.drain(gone);
        assert_eq!(bytes(&without(prefix)), puts(&left), "{prefix:?}");
    }
}

#[test]
fn a_slot_is_taken_again_by_another() {
    let mut catalog = catalog(&two_streams());
    let again = [delete(&RowKey::Stream(1).bytes()), puts(&[stream(1, "b2"), topic(1, 0, "u")])].concat();
    catalog.fold(&again).expect("good deltas");
    assert_eq!((catalog.stream_named("a"), catalog.stream_named("b2")), (None, Some(1)));
    assert_eq!((catalog.topic_named(1, "t"), catalog.topic_named(1, "u")), (None, Some(0)));
    assert_eq!(catalog.partitions_of(1, 0).count(), 0);
}
