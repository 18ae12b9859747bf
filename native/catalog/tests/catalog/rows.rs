//! The bytes of rows, written out.

use ng_catalog::{Compression, FoldRefusal, Row, RowKey, RowRefusal};
use ng_wire::primitive::Malformed;
use ng_wire::replica::Level;

use crate::written::{bytes, catalog, counters, delete, name, partition, puts, stream, topic, user};

fn value(row: &Row) -> Vec<u8> {
    let mut value = Vec::new();
    row.by_ref().put_value(&mut value);
    value
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn keys() {
    for (key, expected) in [
        (RowKey::Counters, "00"),
        (RowKey::Stream(1), "0100000001"),
        (RowKey::Topic { stream: 1, topic: 0x0203 }, "01000000010100000203"),
        (RowKey::Partition { stream: 1, topic: 2, partition: 3 }, "010000000101000000020100000003"),
        (RowKey::NextUser, "02"),
        (RowKey::User(0x0102), "0200000102"),
    ] {
        assert_eq!(hex(&key.bytes()), expected);
        assert_eq!(RowKey::decode(&key.bytes()), Ok(key));
    }
    let partition = RowKey::Partition { stream: 1, topic: 2, partition: 3 };
    assert_eq!(partition.parent(), Some(RowKey::Topic { stream: 1, topic: 2 }));
    assert_eq!(partition.parent().and_then(RowKey::parent), Some(RowKey::Stream(1)));
    assert_eq!((RowKey::Stream(1).parent(), RowKey::Counters.parent()), (None, None));
    assert_eq!((RowKey::User(1).parent(), RowKey::NextUser.parent()), (None, None));
}

#[test]
fn what_a_key_may_not_be() {
    for bytes in [
        &[][..],
        &[0, 0],
        &[3],
        &[3, 0, 0, 0, 1],
        &[1, 0, 0, 0],
        &[1, 0, 0, 0, 1, 2, 0, 0, 0, 0],
        &[1; 16],
        &[2, 0],
        &[2, 0, 0, 0, 1, 1, 0, 0, 0, 0],
    ] {
        assert_eq!(RowKey::decode(bytes), Err(RowRefusal::Key), "{bytes:?}");
    }
}

#[test]
fn values() {
    let counted = counters(7);
    assert_eq!(hex(&value(&counted)), "0100000002000000000000000700000000000000");
    let named = stream(1, "ab");
    assert_eq!(hex(&value(&named)), "0100000000000000020000000000000002616200000000");
    let placed = partition(1, 2, 3);
    let numbers = ["0500000000000000", "0600000000000000", "0310000000000000", "0000000000000000"];
    assert_eq!(hex(&value(&placed)), numbers.concat());
    let Row::Topic(_, _, mut row) = topic(1, 2, "t") else { panic!("a topic") };
    (row.compression, row.durability) = (Compression::Gzip, Level::Persisted);
    (row.message_expiry, row.max_topic_size, row.next_group) = (5, 6, 7);
    row.explicit_options = b"e".as_slice().into();
    let numbers = ["0300000000000000", "0400000000000000", "0500000000000000", "02", "0600000000000000"];
    let rest = ["0000004000000000", "01", "01", "0700000000000000", "0174", "0100000065", "07000000"];
    let expected = [numbers.concat(), rest.concat(), hex(b"derived")].concat();
    assert_eq!(hex(&value(&Row::Topic(1, 2, row))), expected);
    assert_eq!(hex(&value(&Row::NextUser(0x0102))), "02010000");
    let front = ["0700000000000000", "02", "03626f62", "04000000", "68617368", "0800000000000000"];
    let expected = [&front.concat(), "0b000000", "0000000000000000000000", "00000000"].concat();
    assert_eq!(hex(&value(&user(1, "bob"))), expected);
}

#[test]
fn every_cut_and_every_longer_value_is_refused() {
    for row in
        [counters(1), stream(1, "ab"), topic(1, 2, "t"), partition(1, 2, 3), Row::NextUser(1), user(1, "bob")]
    {
        let (key, value) = (row.by_ref().key().bytes(), value(&row));
        assert_eq!(Row::decode(&key, &value), Ok(row));
        for length in 0..value.len() {
            let refusal = Row::decode(&key, &value[..length]);
            assert!(matches!(refusal, Err(RowRefusal::Malformed(Malformed::Short { .. }))), "{length} bytes");
        }
        let longer = [&value[..], &[0]].concat();
        let trailing = RowRefusal::Malformed(Malformed::Trailing { extra: 1 });
        assert_eq!(Row::decode(&key, &longer), Err(trailing));
    }
}

#[test]
fn codes_without_a_meaning_are_refused() {
    let row = topic(1, 2, "t");
    let key = row.by_ref().key().bytes();
    for (at, code) in [(24, 0), (24, 3), (41, 2), (42, 2)] {
        let mut value = value(&row);
        value[at] = code;
        let refusal = RowRefusal::Malformed(Malformed::Value(code.into()));
        assert_eq!(Row::decode(&key, &value), Err(refusal), "byte {at}");
    }
    let row = user(1, "bob");
    for code in [0, 3] {
        let mut value = value(&row);
        value[8] = code;
        let refusal = RowRefusal::Malformed(Malformed::Value(code.into()));
        assert_eq!(Row::decode(&row.by_ref().key().bytes(), &value), Err(refusal));
    }
}

#[test]
fn a_user_row_shows_no_hash() {
    assert!(!format!("{:?}", user(1, "bob")).contains("hash"));
}

#[test]
fn a_row_belongs_to_one_that_is_there() {
    let mut catalog = catalog(&[stream(1, "a")]);
    let before = bytes(&catalog);
    let orphan = RowKey::Partition { stream: 1, topic: 0, partition: 0 };
    assert_eq!(catalog.fold(&puts(&[partition(1, 0, 0)])), Err(FoldRefusal::Orphan(orphan)));
    let orphan = RowKey::Topic { stream: 2, topic: 0 };
    assert_eq!(catalog.fold(&puts(&[topic(2, 0, "t")])), Err(FoldRefusal::Orphan(orphan)));
    let gone = [delete(&RowKey::Stream(1).bytes()), puts(&[topic(1, 0, "t")])].concat();
    assert_eq!(catalog.fold(&gone), Err(FoldRefusal::Orphan(RowKey::Topic { stream: 1, topic: 0 })));
    assert_eq!((bytes(&catalog), catalog.stream_named("a")), (before, Some(1)));
}

#[test]
fn a_name_has_one_owner() {
    let mut catalog = catalog(&[stream(1, "a"), stream(2, "b"), topic(1, 0, "t"), topic(2, 0, "t")]);
    assert_eq!(catalog.fold(&puts(&[stream(2, "a")])), Err(FoldRefusal::NameTaken(RowKey::Stream(2))));
    let taken = FoldRefusal::NameTaken(RowKey::Topic { stream: 1, topic: 1 });
    assert_eq!(catalog.fold(&puts(&[topic(1, 1, "t")])), Err(taken));
    // Its own name may be put again, and a name that was given up be taken.
    assert_eq!(catalog.fold(&puts(&[stream(1, "a"), stream(1, "c"), stream(2, "a")])), Ok(()));
    let named = ["a", "b", "c"].map(|name| catalog.stream_named(name));
    assert_eq!(named, [Some(2), None, Some(1)]);
    assert_eq!((catalog.topic_named(1, "t"), catalog.topic_named(2, "t")), (Some(0), Some(0)));
    catalog.fold(&puts(&[user(0, "a"), user(1, "b")])).expect("users may be called what streams are called");
    assert_eq!(catalog.fold(&puts(&[user(1, "a")])), Err(FoldRefusal::NameTaken(RowKey::User(1))));
    assert_eq!(catalog.fold(&puts(&[user(0, "c"), user(1, "a")])), Ok(()));
    assert_eq!(["a", "b", "c"].map(|name| catalog.user_named(name)), [Some(1), None, Some(0)]);
}

#[test]
fn a_renamed_stream_keeps_its_topics() {
    let mut catalog = catalog(&[stream(1, "a"), topic(1, 0, "t"), partition(1, 0, 0)]);
    catalog.fold(&puts(&[stream(1, "b"), topic(1, 0, "u")])).expect("good rows");
    assert_eq!(catalog.stream(1).map(|row| row.name.clone()), Some(name("b")));
    assert_eq!((catalog.topic_named(1, "t"), catalog.topic_named(1, "u")), (None, Some(0)));
    assert_eq!(catalog.partitions_of(1, 0).map(|(partition, _)| partition).collect::<Vec<_>>(), [0]);
}

#[test]
fn counters_have_a_beginning() {
    let fresh = catalog(&[]).counters();
    assert_eq!((fresh.feature_level, fresh.next_block, fresh.revision), (1, 0, 0));
    assert_eq!(catalog(&[counters(7)]).counters().revision, 7);
}
