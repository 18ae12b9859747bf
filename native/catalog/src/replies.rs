//! The payloads that answer reads of streams, topics and users, and those of the commands that make them.

use ng_wire::primitive::put_u32;
use ng_wire::reply;

use crate::catalog::{Catalog, TopicEntry};
use crate::rows::PartitionRow;
use crate::user_row::UserRow;

/// What is counted of a partition and stands in no row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartitionFigures {
    /// Its segments.
    pub segments: u32,
    /// The offset of its last message; zero also if it has none.
    pub current_offset: u64,
    /// Bytes of its batches.
    pub size_bytes: u64,
    /// Its messages.
    pub messages: u64,
}

/// Who knows the figures of partitions.
pub trait Figures {
    /// The figures of the partition with this group.
    fn partition(&self, group: u64) -> PartitionFigures;
}

/// The figures of what an operation has just made: all zero, the segments too.
#[derive(Clone, Copy, Debug)]
pub struct JustMade;

impl Figures for JustMade {
    fn partition(&self, _group: u64) -> PartitionFigures {
        PartitionFigures::default()
    }
}

/// Appends a stream and its topics; nothing if it is not there.
pub fn put_stream(into: &mut Vec<u8>, catalog: &Catalog, figures: &impl Figures, stream: u32) {
    let topics: Vec<_> = topics_of(catalog, figures, stream).collect();
    put_stream_record(into, catalog, stream, topics.iter().map(|(_, _, total)| *total).sum());
    for (topic, entry, total) in topics {
        put_topic_record(into, topic, entry, total);
    }
}

/// Appends every stream.
pub fn put_streams(into: &mut Vec<u8>, catalog: &Catalog, figures: &impl Figures) {
    for stream in catalog.streams.keys() {
        let total = topics_of(catalog, figures, *stream).map(|(_, _, total)| total).sum();
        put_stream_record(into, catalog, *stream, total);
    }
}

/// Appends a topic and its partitions; nothing if it is not there.
pub fn put_topic(into: &mut Vec<u8>, catalog: &Catalog, figures: &impl Figures, stream: u32, topic: u32) {
    let Some(entry) = catalog.topics.get(&(stream, topic)) else {
        return;
    };
    let partitions = catalog.partitions_of(stream, topic);
    let partitions: Vec<_> = partitions.map(|(id, row)| (id, row, figures.partition(row.group))).collect();
    put_topic_record(into, topic, entry, partitions.iter().map(|(_, _, figures)| Total::of(*figures)).sum());
    for (id, row, figures) in partitions {
        put_partition_record(into, id, row, figures);
    }
}

/// Appends the topics of a stream behind their count, which is zero if it is not there.
pub fn put_topics(into: &mut Vec<u8>, catalog: &Catalog, figures: &impl Figures, stream: Option<u32>) {
    let entry = stream.and_then(|stream| Some((stream, catalog.streams.get(&stream)?)));
    let Some((stream, entry)) = entry else {
        return put_u32(into, 0);
    };
    put_u32(into, entry.topics());
    for (topic, entry, total) in topics_of(catalog, figures, stream) {
        put_topic_record(into, topic, entry, total);
    }
}

/// Appends a user and its permissions; nothing if it is not there.
pub fn put_user(into: &mut Vec<u8>, catalog: &Catalog, user: u32) {
    if let Some(row) = catalog.user(user) {
        user_record(user, row).put_details(&row.permissions, into);
    }
}

/// Appends every user.
pub fn put_users(into: &mut Vec<u8>, catalog: &Catalog) {
    for (user, row) in &catalog.users {
        user_record(*user, row).put(into);
    }
}

/// What the partitions of a topic or of a stream have together.
#[derive(Clone, Copy, Default)]
struct Total {
    size_bytes: u64,
    messages: u64,
}

impl Total {
    const fn of(partition: PartitionFigures) -> Self {
        Self { size_bytes: partition.size_bytes, messages: partition.messages }
    }
}

impl std::iter::Sum for Total {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::default(), |sum, part| Self {
            size_bytes: sum.size_bytes.saturating_add(part.size_bytes),
            messages: sum.messages.saturating_add(part.messages),
        })
    }
}

fn topics_of<'a>(
    catalog: &'a Catalog,
    figures: &impl Figures,
    stream: u32,
) -> impl Iterator<Item = (u32, &'a TopicEntry, Total)> {
    catalog.topics.range((stream, 0)..=(stream, u32::MAX)).map(move |((_, topic), entry)| {
        let partitions = catalog.partitions_of(stream, *topic);
        let total = partitions.map(|(_, row)| Total::of(figures.partition(row.group))).sum();
        (*topic, entry, total)
    })
}

fn put_stream_record(into: &mut Vec<u8>, catalog: &Catalog, stream: u32, total: Total) {
    let Some(entry) = catalog.streams.get(&stream) else {
        return;
    };
    let record = reply::Stream {
        id: stream,
        created_at: entry.row.created_at,
        topics: entry.topics(),
        size_bytes: total.size_bytes,
        messages: total.messages,
        name: entry.row.name.as_name(),
        options: &entry.row.options,
    };
    record.put(into);
}

fn put_topic_record(into: &mut Vec<u8>, topic: u32, entry: &TopicEntry, total: Total) {
    let row = &*entry.row;
    let record = reply::Topic {
        id: topic,
        created_at: row.created_at,
        partitions: entry.partitions,
        message_expiry: row.message_expiry,
        compression: row.compression as u8,
        max_topic_size: row.max_topic_size,
        size_bytes: total.size_bytes,
        messages: total.messages,
        name: row.name.as_name(),
        explicit_options: &row.explicit_options,
        derived_options: &row.derived_options,
    };
    record.put(into);
}

fn put_partition_record(into: &mut Vec<u8>, id: u32, row: &PartitionRow, figures: PartitionFigures) {
    let record = reply::Partition {
        id,
        created_at: row.created_at,
        segments: figures.segments,
        current_offset: figures.current_offset,
        size_bytes: figures.size_bytes,
        messages: figures.messages,
    };
    record.put(into);
}

fn user_record(id: u32, row: &UserRow) -> reply::User<'_> {
    reply::User {
        id,
        created_at: row.created_at,
        status: row.status,
        name: row.name.as_name(),
        options: &row.options,
    }
}
