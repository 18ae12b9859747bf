//! Offsets of consumers: stored, read, moved by polls, deleted.

use iggy::prelude::{
    Consumer, ConsumerOffsetClient, Identifier, IggyClient, MessageClient, Partitioning, PollingStrategy,
};

use crate::Outcome;
use crate::asking::{Place, assert_refused, offsets};

const BEYOND_THE_END: u32 = 4100;
const NOT_STORED: u32 = 3021;

pub(crate) async fn play(client: &IggyClient) -> Outcome<()> {
    let place = Place::make(client, "rust-offsets", 2).await?;
    place.send(client, &Partitioning::partition_id(0), &["a", "b", "c", "d", "e"]).await?;
    let consumer = Consumer::new(Identifier::numeric(7)?);
    assert_eq!(stored(client, &place, &consumer).await?, None);
    for offset in [3, 1] {
        // An explicit store may go back.
        client.store_consumer_offset(&consumer, &place.stream, &place.topic, Some(0), offset).await?;
        assert_eq!(stored(client, &place, &consumer).await?, Some((offset, 4)));
    }
    for (partition, offset) in [(0, 5), (1, 0)] {
        let beyond =
            client.store_consumer_offset(&consumer, &place.stream, &place.topic, Some(partition), offset);
        assert_refused(beyond.await, BEYOND_THE_END);
    }
    polls_move_it_on(client, &place, &consumer).await?;
    client.delete_consumer_offset(&consumer, &place.stream, &place.topic, Some(0)).await?;
    assert_eq!(stored(client, &place, &consumer).await?, None);
    let again = client.delete_consumer_offset(&consumer, &place.stream, &place.topic, Some(0));
    assert_refused(again.await, NOT_STORED);
    place.remove(client).await
}

async fn polls_move_it_on(client: &IggyClient, place: &Place, consumer: &Consumer) -> Outcome<()> {
    for expected in [vec![2, 3], vec![4], vec![]] {
        let next = PollingStrategy::next();
        let polled =
            client.poll_messages(&place.stream, &place.topic, Some(0), consumer, &next, 2, true).await?;
        assert_eq!(offsets(&polled.messages), expected);
    }
    assert_eq!(stored(client, place, consumer).await?, Some((4, 4)));
    Ok(())
}

/// The stored offset and the last one of the partition.
async fn stored(client: &IggyClient, place: &Place, consumer: &Consumer) -> Outcome<Option<(u64, u64)>> {
    let found = client.get_consumer_offset(consumer, &place.stream, &place.topic, Some(0)).await?;
    Ok(found.map(|offset| (offset.stored_offset, offset.current_offset)))
}
