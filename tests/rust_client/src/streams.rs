//! Streams and topics: made, listed, changed and removed.

use iggy::prelude::{
    Identifier, IggyByteSize, IggyClient, IggyDuration, IggyExpiry, OptionsScope, PartitionClient,
    StreamClient, StreamUpdateOptions, SystemClient, TopicClient, TopicCreateOptions, TopicUpdateOptions,
};

use crate::Outcome;
use crate::asking::{Place, assert_refused};

const STREAM_NAME_TAKEN: u32 = 1012;
const TOPIC_NAME_TAKEN: u32 = 2013;
const TOO_MANY_PARTITIONS: u32 = 2015;
const STREAM_NOT_FOUND: u32 = 1009;

const MIB: u64 = 1 << 20;
const HOUR: u64 = 3600 * 1_000_000;

pub(crate) async fn play(client: &IggyClient) -> Outcome<()> {
    let described = client.describe_options(OptionsScope::Topic).await?;
    assert_eq!(described.len(), 9, "the client of this version knows nine");
    let place = Place::make(client, "rust-streams", 3).await?;
    stream_life(client, &place).await?;
    topic_life(client, &place).await?;
    place.remove(client).await?;
    assert!(client.get_stream(&Identifier::named("rust-streams")?).await?.is_none());
    Ok(())
}

async fn stream_life(client: &IggyClient, place: &Place) -> Outcome<()> {
    assert_refused(client.create_stream("rust-streams").await, STREAM_NAME_TAKEN);
    let made = client.create_stream("rust-renamed-soon").await?;
    let number = Identifier::numeric(made.id)?;
    client.update_stream(&number, "rust-renamed", &StreamUpdateOptions::default()).await?;
    let names: Vec<String> = client.get_streams().await?.into_iter().map(|stream| stream.name).collect();
    assert!(
        names.contains(&"rust-streams".to_owned()) && names.contains(&"rust-renamed".to_owned()),
        "{names:?}"
    );
    client.delete_stream(&number).await?;
    assert_refused(client.delete_stream(&number).await, STREAM_NOT_FOUND);
    let stream = client.get_stream(&place.stream).await?.ok_or("the stream is gone")?;
    assert_eq!((stream.topics_count, stream.messages_count), (1, 0));
    Ok(())
}

async fn topic_life(client: &IggyClient, place: &Place) -> Outcome<()> {
    let options = TopicCreateOptions {
        partitions_count: Some(2),
        segment_size: Some(IggyByteSize::from(MIB)),
        message_expiry: Some(IggyExpiry::ExpireDuration(IggyDuration::from(HOUR))),
        ..TopicCreateOptions::default()
    };
    let made = client.create_topic(&place.stream, "kept-an-hour", &options).await?;
    assert_eq!((made.id, made.partitions_count, made.partitions.len()), (1, 2, 2));
    assert_eq!(made.message_expiry, IggyExpiry::ExpireDuration(IggyDuration::from(HOUR)));
    assert_refused(client.create_topic(&place.stream, "kept-an-hour", &options).await, TOPIC_NAME_TAKEN);
    let named = Identifier::named("kept-an-hour")?;
    let changed = TopicUpdateOptions { message_expiry: Some(IggyExpiry::NeverExpire), ..Default::default() };
    client.update_topic(&place.stream, &named, "kept", &changed).await?;
    let kept = Identifier::named("kept")?;
    client.create_partitions(&place.stream, &kept, 3).await?;
    client.delete_partitions(&place.stream, &kept, 1).await?;
    assert_refused(client.create_partitions(&place.stream, &kept, 1001).await, TOO_MANY_PARTITIONS);
    let found = client.get_topic(&place.stream, &kept).await?.ok_or("the topic is gone")?;
    assert_eq!((found.partitions_count, found.message_expiry), (4, IggyExpiry::NeverExpire));
    let names: Vec<String> =
        client.get_topics(&place.stream).await?.into_iter().map(|topic| topic.name).collect();
    assert_eq!(names, ["all", "kept"]);
    Ok(client.delete_topic(&place.stream, &kept).await?)
}
