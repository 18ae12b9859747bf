//! Polls by every strategy, within batches, over batches, and past the end.

use iggy::prelude::{
    Consumer, Identifier, IggyClient, IggyTimestamp, MessageClient, Partitioning, PollingStrategy,
};

use crate::Outcome;
use crate::asking::{Place, assert_refused, offsets};

const PARTITION_NOT_FOUND: u32 = 3007;

pub(crate) async fn play(client: &IggyClient) -> Outcome<()> {
    let place = Place::make(client, "rust-polling", 2).await?;
    for strategy in [PollingStrategy::first(), PollingStrategy::last(), PollingStrategy::next()] {
        assert!(place.poll(client, 0, strategy, 10).await?.is_empty());
    }
    for batch in 0..4 {
        let payloads: Vec<String> = (0..5).map(|index| format!("{batch}-{index}")).collect();
        let payloads: Vec<&str> = payloads.iter().map(String::as_str).collect();
        place.send(client, &Partitioning::partition_id(0), &payloads).await?;
    }
    let everything = place.poll(client, 0, PollingStrategy::first(), 100).await?;
    let last_batch = everything[15].header.timestamp;
    let cases = [
        (PollingStrategy::first(), 4, 0..4),
        (PollingStrategy::offset(3), 4, 3..7),
        (PollingStrategy::offset(20), 4, 20..20),
        (PollingStrategy::last(), 7, 13..20),
        (PollingStrategy::last(), 100, 0..20),
        (PollingStrategy::next(), 2, 0..2),
        (PollingStrategy::timestamp(IggyTimestamp::from(0)), 3, 0..3),
        (PollingStrategy::timestamp(IggyTimestamp::from(last_batch + 1)), 5, 20..20),
    ];
    for (strategy, count, expected) in cases {
        let polled = place.poll(client, 0, strategy, count).await?;
        assert_eq!(offsets(&polled), expected.collect::<Vec<u64>>(), "{strategy} of {count}");
    }
    let since = PollingStrategy::timestamp(IggyTimestamp::from(last_batch));
    assert_eq!(offsets(&place.poll(client, 0, since, 1).await?).len(), 1);
    let payloads: Vec<String> =
        everything.iter().map(|message| String::from_utf8_lossy(&message.payload).into_owned()).collect();
    assert_eq!((payloads[0].as_str(), payloads[19].as_str()), ("0-0", "3-4"));
    assert!(place.poll(client, 1, PollingStrategy::first(), 10).await?.is_empty(), "partitions are apart");
    nothing_of_no_partition(client, &place).await?;
    place.remove(client).await
}

async fn nothing_of_no_partition(client: &IggyClient, place: &Place) -> Outcome<()> {
    let consumer = Consumer::new(Identifier::named("reader")?);
    let first = PollingStrategy::first();
    assert_refused(
        client.poll_messages(&place.stream, &place.topic, Some(7), &consumer, &first, 1, false).await,
        PARTITION_NOT_FOUND,
    );
    Ok(())
}
