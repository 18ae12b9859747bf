//! The rows, indexed.

use std::collections::{BTreeMap, HashMap};

use crate::authorize::UserRights;
use crate::digest::Digest;
use crate::name::RowName;
use crate::rows::{Counters, PartitionRow, StreamRow, TopicRow};
use crate::user_row::UserRow;

/// Every row. Each belongs to a row that is there, and names are unique where they must be.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    pub(crate) counters: Option<Counters>,
    pub(crate) streams: BTreeMap<u32, StreamEntry>,
    pub(crate) topics: BTreeMap<(u32, u32), TopicEntry>,
    pub(crate) partitions: BTreeMap<(u32, u32, u32), PartitionRow>,
    pub(crate) stream_ids: HashMap<RowName, u32>,
    pub(crate) user_rights: UserRights,
    pub(crate) next_user: Option<u32>,
    pub(crate) users: BTreeMap<u32, Box<UserRow>>,
    pub(crate) user_ids: HashMap<RowName, u32>,
    pub(crate) digest: Digest,
}

/// A stream and the names of its topics.
#[derive(Clone, Debug)]
pub(crate) struct StreamEntry {
    pub(crate) row: StreamRow,
    pub(crate) topic_ids: HashMap<RowName, u32>,
}

/// A topic and how many partitions it has.
#[derive(Clone, Debug)]
pub(crate) struct TopicEntry {
    pub(crate) row: Box<TopicRow>,
    pub(crate) partitions: u32,
}

impl StreamEntry {
    /// How many topics the stream has: each has a name of its own.
    pub(crate) fn topics(&self) -> u32 {
        u32::try_from(self.topic_ids.len()).unwrap_or(u32::MAX)
    }
}

impl Catalog {
    /// The counters.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.counters.unwrap_or_default()
    }

    /// A number that catalogs with the same rows have in common, and others with near certainty do not.
    #[must_use]
    pub const fn digest(&self) -> u64 {
        self.digest.sum()
    }

    /// A stream.
    #[must_use]
    pub fn stream(&self, stream: u32) -> Option<&StreamRow> {
        self.streams.get(&stream).map(|entry| &entry.row)
    }

    /// A topic.
    #[must_use]
    pub fn topic(&self, stream: u32, topic: u32) -> Option<&TopicRow> {
        self.topics.get(&(stream, topic)).map(|entry| &*entry.row)
    }

    /// A partition.
    #[must_use]
    pub fn partition(&self, stream: u32, topic: u32, partition: u32) -> Option<&PartitionRow> {
        self.partitions.get(&(stream, topic, partition))
    }

    /// The number of the stream with this name.
    #[must_use]
    pub fn stream_named(&self, name: &str) -> Option<u32> {
        self.stream_ids.get(name).copied()
    }

    /// The number of the topic with this name.
    #[must_use]
    pub fn topic_named(&self, stream: u32, name: &str) -> Option<u32> {
        self.streams.get(&stream)?.topic_ids.get(name).copied()
    }

    /// A user.
    #[must_use]
    pub fn user(&self, user: u32) -> Option<&UserRow> {
        self.users.get(&user).map(|row| &**row)
    }

    /// The number of the user with this name.
    #[must_use]
    pub fn user_named(&self, name: &str) -> Option<u32> {
        self.user_ids.get(name).copied()
    }

    /// How many streams there are.
    #[must_use]
    pub fn streams_count(&self) -> usize {
        self.streams.len()
    }

    /// How many topics there are.
    #[must_use]
    pub fn topics_count(&self) -> usize {
        self.topics.len()
    }

    /// How many partitions there are.
    #[must_use]
    pub fn partitions_count(&self) -> usize {
        self.partitions.len()
    }

    /// How many users there are.
    #[must_use]
    pub fn users_count(&self) -> usize {
        self.users.len()
    }

    /// Every partition of a topic, ascending by its number.
    pub fn partitions_of(&self, stream: u32, topic: u32) -> impl Iterator<Item = (u32, &PartitionRow)> {
        let range = (stream, topic, 0)..=(stream, topic, u32::MAX);
        self.partitions.range(range).map(|((_, _, partition), row)| (*partition, row))
    }
}
