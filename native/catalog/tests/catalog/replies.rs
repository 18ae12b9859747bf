//! Payloads made of rows and figures.

use std::fs;
use std::path::Path;

use ng_catalog::replies::{
    Figures, JustMade, PartitionFigures, put_stream, put_streams, put_topic, put_topics, put_user, put_users,
};
use ng_catalog::{Catalog, Row};
use ng_wire::primitive::Reader;
use ng_wire::replica::Level;
use ng_wire::table::row::UserStatus;

use crate::written::{catalog, partition, stream, topic, user};

/// Figures that tell the groups apart.
struct ByGroup;

impl Figures for ByGroup {
    fn partition(&self, group: u64) -> PartitionFigures {
        let number = group - 4095;
        PartitionFigures {
            segments: 1,
            current_offset: number,
            size_bytes: 100 * number,
            messages: number + 1,
        }
    }
}

fn written(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut body = Vec::new();
    write(&mut body);
    body
}

fn golden(name: &str) -> Vec<u8> {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/wire").join(format!("{name}.hex"));
    let text = fs::read_to_string(&path).expect(name);
    let pairs = text.lines().filter_map(|line| line.split('#').next()).flat_map(str::split_ascii_whitespace);
    pairs.map(|pair| u8::from_str_radix(pair, 16).expect(name)).collect()
}

fn some() -> Catalog {
    let rows = [
        stream(1, "orders"),
        topic(1, 0, "events"),
        partition(1, 0, 0),
        partition(1, 0, 1),
        topic(1, 1, "empty"),
        stream(4, "other"),
    ];
    catalog(&rows)
}

/// Reads a stream's record: number, topics, bytes, messages, name.
fn read_stream<'a>(reader: &mut Reader<'a>) -> (u32, u32, u64, u64, &'a str) {
    let (id, _) = (reader.u32().expect("an id"), reader.u64().expect("a time"));
    let (topics, bytes, messages) = (reader.u32(), reader.u64(), reader.u64());
    let name = reader.name8().expect("a name");
    assert_eq!(reader.str32(), Ok(""));
    (id, topics.expect("topics"), bytes.expect("bytes"), messages.expect("messages"), name)
}

/// Reads a topic's record: number, partitions, bytes, messages, name.
fn read_topic<'a>(reader: &mut Reader<'a>) -> (u32, u32, u64, u64, &'a str) {
    let (id, _) = (reader.u32().expect("an id"), reader.u64().expect("a time"));
    let partitions = reader.u32().expect("partitions");
    assert_eq!((reader.u64(), reader.u8(), reader.u64()), (Ok(u64::MAX), Ok(1), Ok(u64::MAX)));
    let (bytes, messages) = (reader.u64().expect("bytes"), reader.u64().expect("messages"));
    let name = reader.name8().expect("a name");
    assert_eq!((reader.str32(), reader.str32()), (Ok(""), Ok("derived")));
    (id, partitions, bytes, messages, name)
}

#[test]
fn what_was_just_made_is_empty() {
    let request = golden("create_topic_body");
    let created = 1_700_000_000_000_000;
    let Row::Topic(_, _, mut row) = topic(0, 0, "events") else { panic!("a topic") };
    (row.created_at, row.durability) = (created, Level::Persisted);
    row.derived_options = request[19..].into();
    let Row::Partition(_, _, _, mut first) = partition(0, 0, 0) else { panic!("a partition") };
    first.created_at = created;
    let rows = [stream(0, "orders"), Row::Topic(0, 0, row), Row::Partition(0, 0, 0, first)];
    let body = written(|into| put_topic(into, &catalog(&rows), &JustMade, 0, 0));
    assert_eq!(body, golden("create_topic_payload"));

    let Row::Stream(_, mut row) = stream(1, "orders") else { panic!("a stream") };
    row.created_at = 1_710_000_000_000_000;
    let body = written(|into| put_stream(into, &catalog(&[Row::Stream(1, row)]), &JustMade, 1));
    assert_eq!(body, golden("create_stream_reply")[260..]);
}

#[test]
fn a_stream_and_its_topics() {
    let body = written(|into| put_stream(into, &some(), &ByGroup, 1));
    let mut reader = Reader::new(&body);
    assert_eq!(read_stream(&mut reader), (1, 2, 300, 5, "orders"));
    assert_eq!(read_topic(&mut reader), (0, 2, 300, 5, "events"));
    assert_eq!(read_topic(&mut reader), (1, 0, 0, 0, "empty"));
    assert_eq!(reader.finish(), Ok(()));
    assert_eq!(written(|into| put_stream(into, &some(), &ByGroup, 0)), []);
}

#[test]
fn every_stream() {
    let body = written(|into| put_streams(into, &some(), &ByGroup));
    let mut reader = Reader::new(&body);
    assert_eq!(read_stream(&mut reader), (1, 2, 300, 5, "orders"));
    assert_eq!(read_stream(&mut reader), (4, 0, 0, 0, "other"));
    assert_eq!(reader.finish(), Ok(()));
    assert_eq!(written(|into| put_streams(into, &catalog(&[]), &ByGroup)), []);
}

#[test]
fn a_topic_and_its_partitions() {
    let body = written(|into| put_topic(into, &some(), &ByGroup, 1, 0));
    let mut reader = Reader::new(&body);
    assert_eq!(read_topic(&mut reader), (0, 2, 300, 5, "events"));
    for (id, number) in [(0, 1), (1, 2)] {
        assert_eq!((reader.u32(), reader.u64(), reader.u32()), (Ok(id), Ok(5), Ok(1)));
        assert_eq!([reader.u64(), reader.u64(), reader.u64()], [number, 100 * number, number + 1].map(Ok));
    }
    assert_eq!(reader.finish(), Ok(()));
    assert_eq!(written(|into| put_topic(into, &some(), &ByGroup, 1, 2)), []);
}

#[test]
fn the_topics_of_a_stream() {
    let body = written(|into| put_topics(into, &some(), &ByGroup, Some(1)));
    let mut reader = Reader::new(&body);
    assert_eq!(reader.u32(), Ok(2));
    assert_eq!(read_topic(&mut reader), (0, 2, 300, 5, "events"));
    assert_eq!(read_topic(&mut reader), (1, 0, 0, 0, "empty"));
    assert_eq!(reader.finish(), Ok(()));
    for nothing in [None, Some(4), Some(5)] {
        assert_eq!(written(|into| put_topics(into, &some(), &ByGroup, nothing)), [0; 4], "{nothing:?}");
    }
}

#[test]
fn sums_stop_at_the_highest_number() {
    struct Full;
    impl Figures for Full {
        fn partition(&self, _group: u64) -> PartitionFigures {
            PartitionFigures { segments: 1, current_offset: 0, size_bytes: u64::MAX, messages: u64::MAX }
        }
    }
    let body = written(|into| put_streams(into, &some(), &Full));
    let full = (1, 2, u64::MAX, u64::MAX, "orders");
    assert_eq!(read_stream(&mut Reader::new(&body)), full);
}

#[test]
fn a_user_and_its_permissions() {
    let Row::User(_, mut bob) = user(1, "bob") else { panic!("a user") };
    (bob.created_at, bob.status) = (0x0006_0a24_181e_4000, UserStatus::Active);
    bob.permissions = [].into();
    let catalog = catalog(&[Row::User(1, bob), user(4, "ann")]);
    let bob = golden("user_details");
    assert_eq!(written(|into| put_user(into, &catalog, 1)), bob);
    let ann = written(|into| put_user(into, &catalog, 4));
    assert_eq!(ann[21..], [&[1, 11, 0, 0, 0], &[0; 11][..]].concat());
    assert_eq!(written(|into| put_users(into, &catalog)), [&bob[..21], &ann[..21]].concat());
    assert_eq!(written(|into| put_user(into, &catalog, 0)), []);
}
