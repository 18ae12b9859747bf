//! What all scenarios ask for: a session, a topic, messages sent and polled.

use std::fmt::Debug;

use bytes::Bytes;
use iggy::prelude::{
    Client, Consumer, Identifier, IggyClient, IggyError, IggyMessage, MessageClient, Partitioning,
    PollingStrategy, StreamClient, TopicClient, TopicCreateOptions,
};

use crate::Outcome;

/// The root user of the nodes that tests start (`tests/support/raw.py`).
const CREDENTIALS: &str = "iggy:iggy-secret";

/// A topic `all` in a stream of a scenario's own.
pub(crate) struct Place {
    pub(crate) stream: Identifier,
    pub(crate) topic: Identifier,
}

/// A client that is logged in.
pub(crate) async fn connect(address: &str) -> Outcome<IggyClient> {
    let client = IggyClient::from_connection_string(&format!("iggy://{CREDENTIALS}@{address}"))?;
    client.connect().await?;
    Ok(client)
}

impl Place {
    /// Makes the stream and the topic.
    pub(crate) async fn make(client: &IggyClient, stream: &str, partitions: u32) -> Outcome<Self> {
        client.create_stream(stream).await?;
        let place = Self { stream: Identifier::named(stream)?, topic: Identifier::named("all")? };
        let options =
            TopicCreateOptions { partitions_count: Some(partitions), ..TopicCreateOptions::default() };
        client.create_topic(&place.stream, "all", &options).await?;
        Ok(place)
    }

    /// Sends a batch; returns the partition that took it and the offset it begins at.
    pub(crate) async fn send(
        &self,
        client: &IggyClient,
        partitioning: &Partitioning,
        payloads: &[&str],
    ) -> Outcome<(u32, u64)> {
        let mut messages = messages(payloads)?;
        let sent = client.send_messages(&self.stream, &self.topic, partitioning, &mut messages).await?;
        let [confirmed] = &sent.confirmations[..] else {
            return Err(format!("confirmed as {:?}", sent.confirmations).into());
        };
        Ok((confirmed.partition_id, confirmed.base_offset))
    }

    /// The messages of a poll that commits nothing.
    pub(crate) async fn poll(
        &self,
        client: &IggyClient,
        partition: u32,
        strategy: PollingStrategy,
        count: u32,
    ) -> Outcome<Vec<IggyMessage>> {
        let consumer = Consumer::new(Identifier::named("reader")?);
        let polled = client
            .poll_messages(&self.stream, &self.topic, Some(partition), &consumer, &strategy, count, false)
            .await?;
        assert_eq!(polled.count as usize, polled.messages.len());
        Ok(polled.messages)
    }

    /// Removes the stream and all that is in it.
    pub(crate) async fn remove(self, client: &IggyClient) -> Outcome<()> {
        Ok(client.delete_stream(&self.stream).await?)
    }
}

/// Messages that are not stamped yet.
pub(crate) fn messages(payloads: &[&str]) -> Outcome<Vec<IggyMessage>> {
    let built = payloads
        .iter()
        .map(|payload| IggyMessage::builder().payload(Bytes::copy_from_slice(payload.as_bytes())).build());
    Ok(built.collect::<Result<_, _>>()?)
}

/// Where the messages stand.
pub(crate) fn offsets(messages: &[IggyMessage]) -> Vec<u64> {
    messages.iter().map(|message| message.header.offset).collect()
}

/// Holds that a request was refused, and with what.
pub(crate) fn assert_refused<T: Debug>(answer: Result<T, IggyError>, code: u32) {
    match answer {
        Ok(served) => panic!("served with {served:?} instead of refused with {code}"),
        Err(refusal) => assert_eq!(refusal.as_code(), code, "{refusal}"),
    }
}
