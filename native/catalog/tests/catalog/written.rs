//! Rows for tests, and deltas written by hand.

use ng_catalog::{
    Catalog, Compression, Counters, PartitionRow, Row, RowName, StreamRow, TopicRow, UserRow, deltas::put_row,
};
use ng_wire::replica::Level;
use ng_wire::table::row::UserStatus;

pub(crate) fn name(text: &str) -> RowName {
    RowName::new(text).expect("a name")
}

pub(crate) fn counters(revision: u64) -> Row {
    Row::Counters(Counters { feature_level: 1, next_block: 2, revision })
}

pub(crate) fn stream(id: u32, text: &str) -> Row {
    Row::Stream(id, StreamRow { created_at: 1, created_revision: 2, name: name(text), options: [].into() })
}

pub(crate) fn topic(stream: u32, id: u32, text: &str) -> Row {
    let row = TopicRow {
        created_at: 3,
        created_revision: 4,
        message_expiry: u64::MAX,
        compression: Compression::None,
        max_topic_size: u64::MAX,
        segment_size: 1 << 30,
        durability: Level::Replicated,
        consumer_offset_durability: Level::Persisted,
        next_group: 4096,
        name: name(text),
        explicit_options: [].into(),
        derived_options: b"derived".as_slice().into(),
    };
    Row::Topic(stream, id, Box::new(row))
}

pub(crate) fn partition(stream: u32, topic: u32, id: u32) -> Row {
    let group = 4096 + u64::from(id);
    let row = PartitionRow { created_at: 5, created_revision: 6, group, purge_generation: 0 };
    Row::Partition(stream, topic, id, row)
}

pub(crate) fn user(id: u32, text: &str) -> Row {
    let row = UserRow {
        created_at: 7,
        status: UserStatus::Inactive,
        name: name(text),
        password_hash: b"hash".as_slice().into(),
        hash_epoch: 8,
        permissions: [0; 11].into(),
        options: [].into(),
    };
    Row::User(id, Box::new(row))
}

pub(crate) fn puts(rows: &[Row]) -> Vec<u8> {
    let mut deltas = Vec::new();
    for row in rows {
        put_row(&mut deltas, row.by_ref());
    }
    deltas
}

/// A delete as it travels, of any bytes.
pub(crate) fn delete(prefix: &[u8]) -> Vec<u8> {
    let length = u16::try_from(prefix.len()).expect("a short prefix");
    [&[2][..], &length.to_le_bytes(), prefix].concat()
}

pub(crate) fn catalog(rows: &[Row]) -> Catalog {
    let mut catalog = Catalog::default();
    catalog.fold(&puts(rows)).expect("good rows");
    catalog
}

/// Every row as a put, in order.
pub(crate) fn bytes(catalog: &Catalog) -> Vec<u8> {
    let mut bytes = Vec::new();
    assert_eq!(catalog.put_piece(std::ops::Bound::Unbounded, usize::MAX, &mut bytes), None);
    bytes
}
