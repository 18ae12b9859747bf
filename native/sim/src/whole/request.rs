//! Requests of clients, as the bytes that real clients send.

use ng_wire::batch::BatchBuilder;
use ng_wire::checksum::xxh3_64;
use ng_wire::frame::{HEADER_SIZE, RequestHeader};
use ng_wire::primitive::{Name, put_bytes32, put_name8, put_u8, put_u32, put_u64};
use ng_wire::table::command::Command;
use ng_wire::table::operation::Operation;
use ng_wire::version;

use super::topic_limits::TopicLimits;

/// The one stream of a world.
pub(super) const STREAM: &str = "stream";

/// From where a poll reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum From {
    Offset(u64),
    First,
    Last,
    Next,
    Timestamp(u64),
}

/// What a client asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Request {
    Login,
    Ping,
    CreateStream,
    CreateTopic { topic: String, partitions: u32, limits: TopicLimits },
    DeleteTopic { topic: String },
    CreatePartitions { topic: String, count: u32 },
    DeletePartitions { topic: String, count: u32 },
    GetTopic { topic: String },
    Send { topic: String, partition: u32, stamp: u64, payloads: Vec<Vec<u8>> },
    Poll { topic: String, partition: u32, consumer: u32, from: From, count: u32, auto_commit: bool },
    StoreOffset { topic: String, partition: u32, consumer: u32, offset: u64, quorum: bool },
    GetOffset { topic: String, partition: u32, consumer: u32 },
    DeleteOffset { topic: String, partition: u32, consumer: u32, quorum: bool },
    PurgeTopic { topic: String },
    PurgeStream,
    DeleteSegments { topic: String, partition: u32, count: u32 },
}

/// Who sends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sender {
    pub(super) client: u128,
    pub(super) session: u64,
    pub(super) request: u64,
}

impl Request {
    /// The whole frame.
    pub(super) fn frame(&self, sender: Sender) -> Vec<u8> {
        let mut body = Vec::new();
        self.put_body(&mut body);
        let (operation, code) = self.operation();
        let header = RequestHeader {
            size: HEADER_SIZE + u32::try_from(body.len()).expect("frames are short"),
            client: sender.client,
            request_checksum: xxh3_64(&body).into(),
            timestamp: 0,
            request: sender.request,
            operation: operation.code(),
            session: sender.session,
            code,
        };
        let mut frame = header.encode().to_vec();
        frame.append(&mut body);
        frame
    }

    /// The operation, and the command where the operation does not say it.
    pub(super) const fn operation(&self) -> (Operation, u32) {
        match self {
            Self::Login => (Operation::Register, 0),
            Self::Ping => (Operation::NonReplicated, Command::Ping.code()),
            Self::CreateStream => (Operation::CreateStream, 0),
            Self::CreateTopic { .. } => (Operation::CreateTopic, 0),
            Self::DeleteTopic { .. } => (Operation::DeleteTopic, 0),
            Self::CreatePartitions { .. } => (Operation::CreatePartitions, 0),
            Self::DeletePartitions { .. } => (Operation::DeletePartitions, 0),
            Self::GetTopic { .. } => (Operation::NonReplicated, Command::GetTopic.code()),
            Self::Send { .. } => (Operation::SendMessages, 0),
            Self::Poll { .. } => (Operation::NonReplicated, Command::PollMessages.code()),
            Self::StoreOffset { .. } => (Operation::StoreConsumerOffset, 0),
            Self::GetOffset { .. } => (Operation::NonReplicated, Command::GetConsumerOffset.code()),
            Self::DeleteOffset { .. } => (Operation::DeleteConsumerOffset, 0),
            Self::PurgeTopic { .. } => (Operation::PurgeTopic, 0),
            Self::PurgeStream => (Operation::PurgeStream, 0),
            Self::DeleteSegments { .. } => (Operation::DeleteSegments, 0),
        }
    }

    fn put_body(&self, into: &mut Vec<u8>) {
        match self {
            Self::Login => {
                put_u32(into, version::MAX.packed());
                put_name(into, "sim");
                put_name(into, "1");
                put_name(into, "root");
                put_name(into, "secret");
                put_bytes32(into, b"");
            }
            Self::Ping => {}
            Self::CreateStream => put_name(into, STREAM),
            Self::CreateTopic { topic, partitions, limits } => {
                put_identifier(into, STREAM);
                put_u32(into, *partitions);
                put_name(into, topic);
                limits.put(into);
            }
            Self::PurgeStream => put_identifier(into, STREAM),
            Self::DeleteTopic { topic } | Self::GetTopic { topic } | Self::PurgeTopic { topic } => {
                put_topic(into, topic);
            }
            Self::DeleteSegments { topic, partition, count } => {
                put_topic(into, topic);
                put_u32(into, *partition);
                put_u32(into, *count);
            }
            Self::CreatePartitions { topic, count } | Self::DeletePartitions { topic, count } => {
                put_topic(into, topic);
                put_u32(into, *count);
            }
            Self::Send { topic, partition, stamp, payloads } => {
                put_send(into, topic, *partition, *stamp, payloads);
            }
            Self::Poll { topic, partition, consumer, from, count, auto_commit } => {
                put_place(into, topic, *partition, *consumer);
                let (kind, value) = match from {
                    From::Offset(offset) => (1, *offset),
                    From::Timestamp(stamp) => (2, *stamp),
                    From::First => (3, 0),
                    From::Last => (4, 0),
                    From::Next => (5, 0),
                };
                put_u8(into, kind);
                put_u64(into, value);
                put_u32(into, *count);
                put_u8(into, u8::from(*auto_commit));
            }
            Self::StoreOffset { topic, partition, consumer, offset, quorum } => {
                put_place(into, topic, *partition, *consumer);
                put_u64(into, *offset);
                put_u8(into, u8::from(*quorum));
            }
            Self::GetOffset { topic, partition, consumer } => {
                put_place(into, topic, *partition, *consumer);
            }
            Self::DeleteOffset { topic, partition, consumer, quorum } => {
                put_place(into, topic, *partition, *consumer);
                put_u8(into, u8::from(*quorum));
            }
        }
    }
}

fn put_send(into: &mut Vec<u8>, topic: &str, partition: u32, stamp: u64, payloads: &[Vec<u8>]) {
    let mut front = Vec::new();
    put_topic(&mut front, topic);
    put_u8(&mut front, 2);
    put_u8(&mut front, 4);
    put_u32(&mut front, partition);
    put_u32(&mut front, u32::try_from(payloads.len()).expect("batches are short"));
    put_bytes32(into, &front);
    let empty = BatchBuilder::new(stamp);
    let numbered = (1_u128..).zip(payloads);
    let batch = numbered.fold(empty, |batch, (id, payload)| batch.message(id, 0, payload, &[]));
    into.extend_from_slice(&batch.finish());
}

/// A consumer, and the partition that it reads.
fn put_place(into: &mut Vec<u8>, topic: &str, partition: u32, consumer: u32) {
    put_u8(into, 1);
    put_u8(into, 1);
    put_u8(into, 4);
    put_u32(into, consumer);
    put_topic(into, topic);
    put_u8(into, 1);
    put_u32(into, partition);
}

fn put_topic(into: &mut Vec<u8>, topic: &str) {
    put_identifier(into, STREAM);
    put_identifier(into, topic);
}

fn put_identifier(into: &mut Vec<u8>, name: &str) {
    put_u8(into, 2);
    put_name(into, name);
}

fn put_name(into: &mut Vec<u8>, name: &str) {
    put_name8(into, Name::new(name).expect("names are short"));
}
