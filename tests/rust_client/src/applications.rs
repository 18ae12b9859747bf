//! The producer and the consumer that applications write with, at either end of a topic.

use std::time::Duration;

use futures_util::StreamExt;
use iggy::prelude::{
    AutoCommit, AutoCommitWhen, Client, IggyClient, IggyDuration, Partitioning, PollingStrategy,
};
use tokio::time::timeout;

use crate::Outcome;
use crate::asking::{Place, messages};

const MESSAGES: usize = 1000;
const BATCH: u32 = 100;

/// Longer than anything here takes: a message that never comes must not be waited for.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) async fn play(client: &IggyClient) -> Outcome<()> {
    let place = Place::make(client, "rust-applications", 1).await?;
    let producer =
        client.producer("rust-applications", "all")?.partitioning(Partitioning::partition_id(0)).build();
    producer.init().await?;
    let payloads: Vec<String> = (0..MESSAGES).map(|number| format!("message {number}")).collect();
    for batch in payloads.chunks(BATCH as usize) {
        let batch: Vec<&str> = batch.iter().map(String::as_str).collect();
        producer.send(messages(&batch)?).await?;
    }
    let read = consume(client, MESSAGES / 2).await?;
    assert_eq!(read, payloads[..MESSAGES / 2]);
    // Another consumer of the same name goes on where the first one stood.
    let rest = consume(client, MESSAGES / 2).await?;
    assert_eq!(rest, payloads[MESSAGES / 2..]);
    place.remove(client).await?;
    Ok(client.disconnect().await?)
}

async fn consume(client: &IggyClient, count: usize) -> Outcome<Vec<String>> {
    let mut consumer = client
        .consumer("an application", "rust-applications", "all", 0)?
        .polling_strategy(PollingStrategy::next())
        .batch_length(BATCH)
        .poll_interval(IggyDuration::from(1000))
        .auto_commit(AutoCommit::When(AutoCommitWhen::ConsumingEachMessage))
        .build();
    consumer.init().await?;
    let mut payloads = Vec::with_capacity(count);
    while payloads.len() < count {
        let received = timeout(PATIENCE, consumer.next()).await?.ok_or("the consumer ended")??;
        payloads.push(String::from_utf8(received.message.payload.to_vec())?);
    }
    consumer.shutdown().await?;
    Ok(payloads)
}
