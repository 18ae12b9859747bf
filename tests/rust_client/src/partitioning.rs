//! Sends: to a partition by number, by key, in turn; and what is refused.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use iggy::prelude::{
    HeaderKey, HeaderValue, IggyClient, IggyMessage, MessageClient, Partitioning, PollingStrategy,
};

use crate::Outcome;
use crate::asking::{Place, assert_refused, messages, offsets};

const NOT_FOUND: u32 = 20;

pub(crate) async fn play(client: &IggyClient) -> Outcome<()> {
    let place = Place::make(client, "rust-partitioning", 4).await?;
    let second = Partitioning::partition_id(1);
    assert_eq!(place.send(client, &second, &["a", "b"]).await?, (1, 0));
    assert_eq!(place.send(client, &second, &["c"]).await?, (1, 2));

    let key = Partitioning::messages_key_str("a customer")?;
    let (owner, _) = place.send(client, &key, &["k"]).await?;
    for _ in 0..3 {
        assert_eq!(place.send(client, &key, &["k"]).await?.0, owner, "a key has one partition");
    }

    let mut taken = BTreeSet::new();
    for _ in 0..4 {
        taken.insert(place.send(client, &Partitioning::balanced(), &["turn"]).await?.0);
    }
    assert_eq!(taken.len(), 4, "each partition has its turn");

    let nowhere = Partitioning::partition_id(9);
    let mut lost = messages(&["lost"])?;
    assert_refused(client.send_messages(&place.stream, &place.topic, &nowhere, &mut lost).await, NOT_FOUND);
    everything_comes_back(client, &place).await?;
    place.remove(client).await
}

/// Number, headers, payload and time of a message are those that its producer gave it.
async fn everything_comes_back(client: &IggyClient, place: &Place) -> Outcome<()> {
    let headers = BTreeMap::from([(HeaderKey::try_from("kind")?, HeaderValue::try_from("order")?)]);
    let message = IggyMessage::builder()
        .id(42)
        .payload(Bytes::from_static(b"d"))
        .user_headers(headers.clone())
        .build()?;
    let origin = message.header.origin_timestamp;
    let second = Partitioning::partition_id(1);
    client.send_messages(&place.stream, &place.topic, &second, &mut [message]).await?;
    let polled = place.poll(client, 1, PollingStrategy::last(), 1).await?;
    let [found] = &polled[..] else {
        return Err(format!("polled {:?}", offsets(&polled)).into());
    };
    assert_eq!((found.header.id, found.header.origin_timestamp), (42, origin));
    assert_eq!((&found.payload[..], found.user_headers_map()?), (&b"d"[..], Some(headers)));
    assert!(found.header.timestamp >= origin);
    Ok(())
}
