//! What answers reads of streams, topics, messages and offsets, against the golden bytes and read back.

use ng_wire::batch::BatchRefusal;
use ng_wire::primitive::{Name, Reader, put_u32};
use ng_wire::reply::{
    Confirmation, POLL_HEADER_BYTES, Partition, PollHeader, StoredOffset, Stream, Topic, put_confirmations,
    put_rejection, put_success,
};
use ng_wire::table::error::ErrorCode;

use crate::vectors::golden;

fn name(text: &str) -> Name<'_> {
    Name::new(text).expect("a name")
}

#[test]
fn a_stream_that_was_made() {
    let stream = Stream {
        id: 1,
        created_at: 1_710_000_000_000_000,
        topics: 0,
        size_bytes: 0,
        messages: 0,
        name: name("orders"),
        options: &[],
    };
    let mut body = Vec::new();
    put_success(&mut body);
    stream.put(&mut body);
    assert_eq!(body, golden("create_stream_reply")[256..]);
    let mut body = Vec::new();
    Stream { topics: 2, size_bytes: 3, messages: 4, options: b"o", ..stream }.put(&mut body);
    let mut reader = Reader::new(&body[12..]);
    assert_eq!((reader.u32(), reader.u64(), reader.u64()), (Ok(2), Ok(3), Ok(4)));
    assert_eq!((reader.name8(), reader.str32(), reader.finish()), (Ok("orders"), Ok("o"), Ok(())));
}

#[test]
fn a_topic_that_was_made() {
    let request = golden("create_topic_body");
    let created_at = 1_700_000_000_000_000;
    let topic = Topic {
        id: 0,
        created_at,
        partitions: 1,
        message_expiry: u64::MAX,
        compression: 1,
        max_topic_size: u64::MAX,
        size_bytes: 0,
        messages: 0,
        name: name("events"),
        explicit_options: &[],
        derived_options: &request[19..],
    };
    let mut body = Vec::new();
    topic.put(&mut body);
    Partition { id: 0, created_at, segments: 0, current_offset: 0, size_bytes: 0, messages: 0 }
        .put(&mut body);
    assert_eq!(body, golden("create_topic_payload"));
}

#[test]
fn a_partition_is_read_back() {
    let mut body = Vec::new();
    Partition { id: 1, created_at: 2, segments: 3, current_offset: 4, size_bytes: 5, messages: 6 }
        .put(&mut body);
    let mut reader = Reader::new(&body);
    assert_eq!((reader.u32(), reader.u64(), reader.u32()), (Ok(1), Ok(2), Ok(3)));
    assert_eq!((reader.u64(), reader.u64(), reader.u64()), (Ok(4), Ok(5), Ok(6)));
    assert_eq!(reader.finish(), Ok(()));
}

#[test]
fn messages_that_were_sent() {
    let mut body = Vec::new();
    put_confirmations(
        &mut body,
        &[Confirmation { stream_id: 0, topic_id: 0, partition_id: 0, base_offset: 0 }],
    );
    assert_eq!(body, golden("send_messages_reply_body"));
    let mut body = Vec::new();
    put_confirmations(
        &mut body,
        &[Confirmation { stream_id: 1, topic_id: 2, partition_id: 3, base_offset: 1 << 40 }],
    );
    let mut reader = Reader::new(&body);
    assert_eq!([reader.u32(), reader.u32(), reader.u32(), reader.u32()], [1, 1, 2, 3].map(Ok));
    assert_eq!((reader.u64(), reader.finish()), (Ok(1 << 40), Ok(())));
}

#[test]
fn what_stands_in_front_of_messages() {
    let mut body = Vec::new();
    PollHeader { partition_id: 3, current_offset: 101, messages: 2 }.put(&mut body);
    assert_eq!(body, golden("produced_batch_reply")[..POLL_HEADER_BYTES]);
}

#[test]
fn an_offset_is_read_back() {
    let mut body = Vec::new();
    StoredOffset { partition_id: 1, current_offset: 2, stored_offset: 3 }.put(&mut body);
    let mut reader = Reader::new(&body);
    assert_eq!((reader.u32(), reader.u64(), reader.u64()), (Ok(1), Ok(2), Ok(3)));
    assert_eq!(reader.finish(), Ok(()));
}

#[test]
fn sections_stand_alone() {
    let mut body = Vec::new();
    put_rejection(&mut body, ErrorCode::StreamNameAlreadyExists);
    assert_eq!(body, golden("rejected_body"));
    let (mut body, mut expected) = (Vec::new(), Vec::new());
    put_success(&mut body);
    put_u32(&mut expected, 0);
    assert_eq!(body, expected);
}

#[test]
fn a_refused_batch_has_a_status() {
    for (refusal, status) in [
        (BatchRefusal::MessageChecksum, ErrorCode::InvalidMessageChecksum),
        (BatchRefusal::Checksum, ErrorCode::InvalidBatchChecksum),
        (BatchRefusal::Empty, ErrorCode::InvalidCommand),
        (BatchRefusal::Order(3), ErrorCode::InvalidCommand),
    ] {
        assert_eq!(refusal.status(), status);
    }
}
