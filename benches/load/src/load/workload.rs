//! The requests: what is asked, and what the answer must be.

use bytes::{Bytes, BytesMut};
use iggy::prelude::{
    Consumer, Identifier, MessageClient, Partitioning, PollingStrategy, StreamClient, TcpClient, TopicClient,
    TopicCreateOptions,
};
use iggy_binary_protocol::codes::SEND_MESSAGES_CODE;
use iggy_binary_protocol::requests::messages::{RawMessage, SendMessagesEncoder};
use iggy_common::BinaryTransport;
use iggy_common::wire_conversions::{identifier_to_wire, partitioning_to_wire};

use crate::Outcome;
use crate::arguments::{Kind, Prepare, Run, Shape};
use crate::clients::connect;

const STREAM: &str = "load";
const TOPIC: &str = "load";

/// A count, and the place of the one partition that took the batch.
const CONFIRMATION_BYTES: usize = 24;

/// Makes the topic and fills it.
pub(crate) async fn prepare(prepare: &Prepare) -> Outcome<()> {
    let client = connect(&prepare.shape.address, true).await?;
    client.create_stream(STREAM).await?;
    let options = TopicCreateOptions {
        partitions_count: Some(prepare.shape.partitions.get()),
        ..TopicCreateOptions::default()
    };
    client.create_topic(&Identifier::named(STREAM)?, TOPIC, &options).await?;
    for partition in 0..prepare.shape.partitions.get() {
        let batch = batch(&prepare.shape, partition)?;
        for _ in 0..prepare.batches {
            send(&client, &batch).await?;
        }
    }
    Ok(())
}

/// One client and what it does.
pub(crate) struct Worker {
    client: TcpClient,
    task: Task,
}

enum Task {
    Send { batches: Vec<Bytes>, next: usize },
    Poll(Box<Poll>),
}

struct Poll {
    stream: Identifier,
    topic: Identifier,
    consumer: Consumer,
    partition: u32,
    offset: u64,
    filled: u64,
    messages: u32,
    payload: u64,
}

impl Worker {
    /// The worker with this number. It sends to its share of the partitions, and polls one.
    pub(crate) async fn new(run: &Run, number: u32) -> Outcome<Self> {
        let client = connect(&run.shape.address, !run.nagle).await?;
        let (clients, partitions) = (run.clients.get(), run.shape.partitions.get());
        let first = number % partitions;
        let share = (first..partitions).step_by(clients.min(partitions) as usize);
        let task = match run.kind {
            Kind::Send => Task::Send {
                batches: share.map(|partition| batch(&run.shape, partition)).collect::<Outcome<_>>()?,
                next: 0,
            },
            Kind::Poll => Task::Poll(Box::new(Poll {
                stream: Identifier::named(STREAM)?,
                topic: Identifier::named(TOPIC)?,
                consumer: Consumer::new(Identifier::numeric(number + 1)?),
                partition: first,
                offset: 0,
                filled: run.filled,
                messages: run.shape.messages.get(),
                payload: payload_bytes(&run.shape),
            })),
        };
        Ok(Self { client, task })
    }

    /// One request, from asking to the decoded answer.
    pub(crate) async fn ask(&mut self) -> Outcome<()> {
        match &mut self.task {
            Task::Send { batches, next } => {
                send(&self.client, &batches[*next]).await?;
                *next = (*next + 1) % batches.len();
                Ok(())
            }
            Task::Poll(poll) => poll.ask(&self.client).await,
        }
    }
}

impl Poll {
    async fn ask(&mut self, client: &TcpClient) -> Outcome<()> {
        let strategy = PollingStrategy::offset(self.offset);
        let (stream, topic, partition) = (&self.stream, &self.topic, Some(self.partition));
        let polled = client
            .poll_messages(stream, topic, partition, &self.consumer, &strategy, self.messages, false)
            .await?;
        let payload: u64 = polled.messages.iter().map(|message| message.payload.len() as u64).sum();
        if polled.count != self.messages || payload != self.payload {
            let offset = self.offset;
            return Err(format!("{} messages of {payload} bytes at offset {offset}", polled.count).into());
        }
        self.offset += u64::from(self.messages);
        if self.offset + u64::from(self.messages) > self.filled {
            self.offset = 0;
        }
        Ok(())
    }
}

/// Payload bytes of one request.
pub(crate) fn payload_bytes(shape: &Shape) -> u64 {
    u64::from(shape.messages.get()) * shape.bytes as u64
}

async fn send(client: &TcpClient, batch: &Bytes) -> Outcome<()> {
    let confirmed = client.send_raw_with_response(SEND_MESSAGES_CODE, batch.clone()).await?;
    if confirmed.len() == CONFIRMATION_BYTES {
        Ok(())
    } else {
        Err(format!("a confirmation of {} bytes", confirmed.len()).into())
    }
}

/// The body of a request to send, encoded by the client's own encoder. Payloads differ, and do not compress.
fn batch(shape: &Shape, partition: u32) -> Outcome<Bytes> {
    let count = shape.messages.get();
    let payloads: Vec<Vec<u8>> = (0..count).map(|message| payload(shape.bytes, partition, message)).collect();
    let numbered = (1_u128..).zip(&payloads);
    let raw: Vec<RawMessage<'_>> = numbered
        .map(|(id, payload)| RawMessage { id, origin_timestamp: 0, headers: None, payload })
        .collect();
    let stream = identifier_to_wire(&Identifier::named(STREAM)?)?;
    let topic = identifier_to_wire(&Identifier::named(TOPIC)?)?;
    let partitioning = partitioning_to_wire(&Partitioning::partition_id(partition))?;
    let size = SendMessagesEncoder::encoded_size(&stream, &topic, &partitioning, &raw);
    let mut body = BytesMut::with_capacity(size);
    SendMessagesEncoder::encode(&mut body, &stream, &topic, &partitioning, &raw)?;
    Ok(body.freeze())
}

fn payload(bytes: usize, partition: u32, message: u32) -> Vec<u8> {
    // Xorshift, which needs a state other than zero.
    let mut state = (u64::from(partition) << 32 | u64::from(message)) ^ 0x9E37_79B9_7F4A_7C15;
    let words = std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    });
    words.flatten().take(bytes).collect()
}
