//! Bodies of the commands about streams, topics and messages: the golden ones, every cut of them, any bytes.

use ng_wire::primitive::{Malformed, put_u8, put_u32, put_u64};
use ng_wire::replica::ConsumerKind;
use ng_wire::request::{
    Ack, Consumer, CreateStream, CreateTopic, DeleteOffset, DeleteSegments, FlushUnsaved, Identifier,
    OffsetTarget, Partitioning, PartitionsChange, PollMessages, PollingStrategy, SendMessages, StoreOffset,
    StreamTarget, TopicTarget, UpdateStream, UpdateTopic, place_of_key,
};
use ng_wire::table::error::ErrorCode;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::vectors::golden;

const ORDERS_EVENTS: TopicTarget<'_> =
    TopicTarget { stream: Identifier::Name("orders"), topic: Identifier::Name("events") };

/// The stream `orders`, the topic `events`.
const TARGET: &[u8] = b"\x02\x06orders\x02\x06events";

/// A judge of bodies: read and checked.
type Judge = fn(&[u8]) -> Result<(), ErrorCode>;

fn judged<T>(
    read: Result<T, Malformed>,
    check: impl FnOnce(&T) -> Result<(), ErrorCode>,
) -> Result<(), ErrorCode> {
    check(&read?)
}

const JUDGES: &[(&str, Judge)] = &[
    ("stream", |body| judged(StreamTarget::decode(body), |_| Ok(()))),
    ("create stream", |body| judged(CreateStream::decode(body), CreateStream::check)),
    ("update stream", |body| judged(UpdateStream::decode(body), UpdateStream::check)),
    ("topic", |body| judged(TopicTarget::decode(body), |_| Ok(()))),
    ("create topic", |body| judged(CreateTopic::decode(body), CreateTopic::check)),
    ("update topic", |body| judged(UpdateTopic::decode(body), UpdateTopic::check)),
    ("partitions", |body| judged(PartitionsChange::decode(body), PartitionsChange::check)),
    ("delete segments", |body| judged(DeleteSegments::decode(body), |_| Ok(()))),
    ("flush", |body| judged(FlushUnsaved::decode(body), |_| Ok(()))),
    ("send", |body| judged(SendMessages::decode(body), SendMessages::check)),
    ("poll", |body| judged(PollMessages::decode(body), |_| Ok(()))),
    ("get offset", |body| judged(OffsetTarget::decode(body), |_| Ok(()))),
    ("store offset", |body| judged(StoreOffset::decode(body), |_| Ok(()))),
    ("delete offset", |body| judged(DeleteOffset::decode(body), |_| Ok(()))),
];

fn judge(name: &str) -> Judge {
    JUDGES.iter().find(|(judged, _)| *judged == name).expect(name).1
}

/// A good body of each command, and after which of its bytes it is good too: where an option ends.
fn bodies() -> Vec<(&'static str, Vec<u8>, &'static [usize])> {
    let behind = |bytes: &[u8]| [TARGET, bytes].concat();
    let poll = golden("poll_messages_body");
    let offset = golden("store_offset_body");
    vec![
        ("stream", b"\x01\x04\0\0\0\0".to_vec(), &[]),
        ("create stream", b"\x06orders".to_vec(), &[]),
        ("update stream", b"\x02\x06orders\x03new".to_vec(), &[]),
        ("topic", TARGET.to_vec(), &[]),
        ("create topic", golden("create_topic_body"), &[19, 48, 80]),
        ("update topic", behind(b"\x03new"), &[]),
        ("partitions", behind(&1000_u32.to_le_bytes()), &[]),
        ("delete segments", behind(&[7; 8]), &[]),
        ("flush", behind(&[1; 5]), &[]),
        ("send", golden("send_messages_body"), &[]),
        ("poll", poll, &[]),
        ("get offset", offset[..offset.len() - 9].to_vec(), &[]),
        ("store offset", offset.clone(), &[]),
        ("delete offset", [&offset[..offset.len() - 9], &[0]].concat(), &[]),
    ]
}

#[test]
fn every_cut_and_every_longer_body_is_refused() {
    let bodies = bodies();
    assert_eq!(bodies.len(), JUDGES.len());
    for (name, body, ends) in bodies {
        let judge = judge(name);
        assert_eq!(judge(&body), Ok(()), "{name}");
        for length in 0..body.len() {
            assert_eq!(judge(&body[..length]).is_ok(), ends.contains(&length), "{name}, {length} bytes");
        }
        assert_eq!(judge(&[&body[..], &[0]].concat()), Err(ErrorCode::InvalidCommand), "{name}");
    }
}

#[test]
fn a_topic_is_asked_for() {
    let body = golden("create_topic_body");
    let create = CreateTopic::decode(&body).expect("a golden body");
    assert_eq!((create.stream, create.partitions, create.name), (Identifier::Name("orders"), 3, "events"));
    let entries = create.options.entries().expect("good options");
    let keys: Vec<_> = entries.iter().map(|entry| (entry.key, entry.kind)).collect();
    assert_eq!(keys, [("durability", 2), ("message_expiry", 12), ("segment_size", 12)]);
    assert_eq!(entries[0].value, b"persisted");
    assert_eq!(create.options.bytes(), &body[19..]);
}

#[test]
fn messages_are_sent() {
    let body = golden("send_messages_body");
    let send = SendMessages::decode(&body).expect("a golden body");
    assert_eq!((send.target, send.partitioning), (ORDERS_EVENTS, Partitioning::Partition(0)));
    assert_eq!((send.messages, send.batch_start), (2, 30));
    assert_eq!(send.batch, &body[30..]);
    let mut other_count = body.clone();
    other_count[26] = 3;
    assert_eq!(judge("send")(&other_count), Err(ErrorCode::InvalidCommand), "the batch holds two");
    let mut longer_metadata = body;
    longer_metadata[0] += 1;
    let refusal = SendMessages::decode(&longer_metadata);
    assert_eq!(refusal, Err(Malformed::Trailing { extra: 1 }));
}

#[test]
fn messages_are_polled() {
    let mut body = golden("poll_messages_body");
    let consumer = Consumer { kind: ConsumerKind::Consumer, id: Identifier::Number(5) };
    let poll = PollMessages {
        consumer,
        target: ORDERS_EVENTS,
        partition: Some(0),
        strategy: PollingStrategy::Next,
        count: 10,
        auto_commit: true,
    };
    assert_eq!(PollMessages::decode(&body), Ok(poll));
    let strategy_at = body.len() - 14;
    let strategies = [
        (1, PollingStrategy::Offset(9)),
        (2, PollingStrategy::Timestamp(9)),
        (3, PollingStrategy::First),
        (4, PollingStrategy::Last),
        (5, PollingStrategy::Next),
    ];
    body[strategy_at + 1] = 9;
    for (kind, strategy) in strategies {
        body[strategy_at] = kind;
        assert_eq!(PollMessages::decode(&body).map(|poll| poll.strategy), Ok(strategy));
    }
    body[strategy_at] = 6;
    assert_eq!(PollMessages::decode(&body), Err(Malformed::Value(6)));
    body[strategy_at] = 5;
    for present in [0, 2, 255] {
        body[strategy_at - 5] = present;
        assert_eq!(PollMessages::decode(&body).map(|poll| poll.partition), Ok(None));
    }
}

#[test]
fn offsets_are_stored_and_deleted() {
    let body = golden("store_offset_body");
    let consumer = Consumer { kind: ConsumerKind::Group, id: Identifier::Name("g1") };
    let place = OffsetTarget { consumer, target: ORDERS_EVENTS, partition: Some(0) };
    let store = StoreOffset { place, offset: 1, ack: Ack::Quorum };
    assert_eq!(StoreOffset::decode(&body), Ok(store));
    let mut body = body[..body.len() - 9].to_vec();
    assert_eq!(OffsetTarget::decode(&body), Ok(place));
    body.push(0);
    assert_eq!(DeleteOffset::decode(&body), Ok(DeleteOffset { place, ack: Ack::None }));
    *body.last_mut().expect("a body") = 2;
    assert_eq!(DeleteOffset::decode(&body), Err(Malformed::Value(2)));
}

#[test]
fn partitions_are_counted() {
    let with = |count: u32| [TARGET, &count.to_le_bytes()].concat();
    for (count, expected) in [
        (0, Err(ErrorCode::TooManyPartitions)),
        (1, Ok(())),
        (1000, Ok(())),
        (1001, Err(ErrorCode::TooManyPartitions)),
    ] {
        assert_eq!(judge("partitions")(&with(count)), expected, "{count}");
        let mut body = b"\x02\x06orders".to_vec();
        put_u32(&mut body, count);
        body.extend_from_slice(b"\x06events");
        let expected = if count == 0 { Ok(()) } else { expected };
        assert_eq!(judge("create topic")(&body), expected, "a topic may begin without partitions");
    }
}

#[test]
fn segments_and_buffers_are_named() {
    let mut body = TARGET.to_vec();
    put_u32(&mut body, 7);
    put_u8(&mut body, 2);
    let flush = FlushUnsaved { target: ORDERS_EVENTS, partition: 7, sync: true };
    assert_eq!(FlushUnsaved::decode(&body), Ok(flush));
    let mut body = TARGET.to_vec();
    put_u64(&mut body, 7 << 32 | 3);
    let deletion = DeleteSegments { target: ORDERS_EVENTS, partition: 3, count: 7 };
    assert_eq!(DeleteSegments::decode(&body), Ok(deletion));
}

#[test]
fn what_an_identifier_may_not_be() {
    for (body, refusal) in [
        (&b"\x01\x03\0\0\0"[..], Malformed::Value(3)),
        (b"\x03\x04\0\0\0\0", Malformed::Value(3)),
        (b"\x02\x00", Malformed::EmptyName),
        (b"\x02\x01\xff", Malformed::NotUtf8),
    ] {
        assert_eq!(StreamTarget::decode(body), Err(refusal));
    }
    let number = StreamTarget { stream: Identifier::Number(0x0403_0201) };
    assert_eq!(StreamTarget::decode(b"\x01\x04\x01\x02\x03\x04"), Ok(number));
    let digits = StreamTarget { stream: Identifier::Name("42") };
    assert_eq!(StreamTarget::decode(b"\x02\x0242"), Ok(digits));
}

#[test]
fn partitions_are_chosen_as_clients_choose_them() {
    let send = |partitioning: &[u8]| {
        let metadata = [TARGET, partitioning, &[0; 4]].concat();
        let mut body = Vec::new();
        put_u32(&mut body, u32::try_from(metadata.len()).expect("short metadata"));
        body.extend_from_slice(&metadata);
        body
    };
    let read = |partitioning: &[u8]| {
        SendMessages::decode(&send(partitioning)).map(|send| match send.partitioning {
            Partitioning::Balanced => (1, Vec::new()),
            Partitioning::Partition(partition) => (2, partition.to_le_bytes().to_vec()),
            Partitioning::Key(key) => (3, key.to_vec()),
        })
    };
    assert_eq!(read(&[1, 0]), Ok((1, vec![])));
    assert_eq!(read(&[2, 4, 9, 0, 0, 0]), Ok((2, vec![9, 0, 0, 0])));
    assert_eq!(read(&[3, 2, 8, 9]), Ok((3, vec![8, 9])));
    for refused in [&[1, 1, 0][..], &[2, 3, 0, 0, 0], &[2, 0], &[3, 0], &[4, 0]] {
        assert_eq!(read(refused), Err(Malformed::Value(refused[0].into())));
    }
    let three = 3.try_into().expect("above zero");
    assert_eq!(place_of_key(b"user-1", three), 0);
    assert_eq!(place_of_key(b"hello world", three), 1);
}

#[test]
fn consumers_have_numbers() {
    let consumer = |kind, id| Consumer { kind, id };
    let named = consumer(ConsumerKind::Consumer, Identifier::Name("c1"));
    assert_eq!(named.number(), Some(0x94d7_7ee5));
    let numbered = consumer(ConsumerKind::Consumer, Identifier::Number(0x94d7_7ee5));
    assert_eq!(numbered.number(), named.number(), "a name and its hash are one consumer");
    assert_eq!(consumer(ConsumerKind::Group, Identifier::Number(1)).number(), None);
    assert_eq!(ng_wire::checksum::xxh32(b""), 0x02cc_5d05);
}

proptest! {
    #[test]
    fn no_bytes_make_a_decoder_panic(body in vec(any::<u8>(), 0..400)) {
        for (_, judge) in JUDGES {
            let _ = judge(&body);
        }
    }

    #[test]
    fn no_change_of_a_good_body_makes_a_decoder_panic(
        at in any::<prop::sample::Index>(), byte in any::<u8>()
    ) {
        for (name, mut body, _) in bodies() {
            let at = at.index(body.len());
            body[at] = byte;
            let _ = judge(name)(&body);
        }
    }
}
