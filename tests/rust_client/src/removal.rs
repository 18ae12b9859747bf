//! What goes: messages by a purge, segments, partitions, a topic that is made again.

use iggy::prelude::{
    IggyClient, MessageClient, PartitionClient, Partitioning, PollingStrategy, SegmentClient, StreamClient,
    TopicClient, TopicCreateOptions,
};

use crate::Outcome;
use crate::asking::{Place, assert_refused, offsets};

const UNAVAILABLE: u32 = 5;
const NOT_FOUND: u32 = 20;

pub(crate) async fn play(client: &IggyClient) -> Outcome<()> {
    let place = Place::make(client, "rust-removal", 2).await?;
    let first = Partitioning::partition_id(0);
    place.send(client, &first, &["old", "older"]).await?;
    // A segment that is appended to is never deleted, and nothing to delete is a success.
    client.delete_segments(&place.stream, &place.topic, 0, 1).await?;
    assert_eq!(offsets(&place.poll(client, 0, PollingStrategy::first(), 10).await?), [0, 1]);
    assert_refused(client.flush_unsaved_buffer(&place.stream, &place.topic, 0, true).await, UNAVAILABLE);
    client.purge_topic(&place.stream, &place.topic).await?;
    assert!(place.poll(client, 0, PollingStrategy::first(), 10).await?.is_empty());
    assert_eq!(place.send(client, &first, &["new"]).await?, (0, 0));
    client.purge_stream(&place.stream).await?;
    assert!(place.poll(client, 0, PollingStrategy::first(), 10).await?.is_empty());

    client.delete_partitions(&place.stream, &place.topic, 1).await?;
    let mut lost = crate::asking::messages(&["lost"])?;
    let gone = Partitioning::partition_id(1);
    assert_refused(client.send_messages(&place.stream, &place.topic, &gone, &mut lost).await, NOT_FOUND);

    place.send(client, &first, &["of the topic that goes"]).await?;
    client.delete_topic(&place.stream, &place.topic).await?;
    let options = TopicCreateOptions { partitions_count: Some(1), ..TopicCreateOptions::default() };
    client.create_topic(&place.stream, "all", &options).await?;
    assert!(place.poll(client, 0, PollingStrategy::first(), 10).await?.is_empty());
    assert_eq!(place.send(client, &first, &["first"]).await?, (0, 0));
    place.remove(client).await
}
