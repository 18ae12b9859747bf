//! From what a request names to the rows it means, and what is answered when there are none.

use std::num::NonZeroU32;

use ng_wire::request::{Identifier, Partitioning, TopicTarget, place_of_key};
use ng_wire::table::command::Command;
use ng_wire::table::error::ErrorCode;

use crate::catalog::Catalog;
use crate::rows::{PartitionRow, TopicRow};

/// A topic that a request named.
#[derive(Clone, Copy, Debug)]
pub struct TopicView<'a> {
    /// The number of its stream.
    pub stream: u32,
    /// Its number in the stream.
    pub topic: u32,
    /// Its row.
    pub row: &'a TopicRow,
    /// How many partitions it has; they are numbered from 0.
    pub partitions: u32,
}

/// The first thing on the way to a row that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The stream.
    Stream,
    /// The topic, in a stream that is there.
    Topic,
    /// The partition, in a topic that is there.
    Partition,
    /// The user.
    User,
}

/// How a command answers that something is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absence {
    /// With success and nothing in it.
    EmptyBody,
    /// With success and a list of nothing.
    EmptyList,
    /// With an error.
    Error(ErrorCode),
}

impl Missing {
    /// How `command` answers.
    #[must_use]
    pub const fn answer(self, command: Command) -> Absence {
        match (command, self) {
            (Command::GetStream | Command::GetTopic | Command::GetUser, _)
            | (Command::GetConsumerOffset, Self::Stream | Self::Topic) => Absence::EmptyBody,
            (Command::GetTopics, _) => Absence::EmptyList,
            (Command::SendMessages | Command::StoreConsumerOffset | Command::DeleteConsumerOffset, _) => {
                Absence::Error(ErrorCode::ResourceNotFound)
            }
            (_, Self::User) => Absence::Error(ErrorCode::ResourceNotFound),
            (_, Self::Stream) => Absence::Error(ErrorCode::StreamIdNotFound),
            (_, Self::Topic) => Absence::Error(ErrorCode::TopicIdNotFound),
            (_, Self::Partition) => Absence::Error(ErrorCode::PartitionNotFound),
        }
    }
}

impl Catalog {
    /// The number of a stream that a request names.
    pub fn find_stream(&self, stream: Identifier<'_>) -> Result<u32, Missing> {
        let found = match stream {
            Identifier::Number(number) => self.streams.contains_key(&number).then_some(number),
            Identifier::Name(name) => self.stream_named(name),
        };
        found.ok_or(Missing::Stream)
    }

    /// The number of a user that a request names.
    pub fn find_user(&self, user: Identifier<'_>) -> Result<u32, Missing> {
        let found = match user {
            Identifier::Number(number) => self.users.contains_key(&number).then_some(number),
            Identifier::Name(name) => self.user_named(name),
        };
        found.ok_or(Missing::User)
    }

    /// A topic that a request names.
    pub fn find_topic(&self, target: TopicTarget<'_>) -> Result<TopicView<'_>, Missing> {
        let stream = self.find_stream(target.stream)?;
        let topic = match target.topic {
            Identifier::Number(number) => number,
            Identifier::Name(name) => self.topic_named(stream, name).ok_or(Missing::Topic)?,
        };
        let entry = self.topics.get(&(stream, topic)).ok_or(Missing::Topic)?;
        Ok(TopicView { stream, topic, row: &entry.row, partitions: entry.partitions })
    }

    /// A partition of a topic.
    pub fn find_partition(&self, topic: &TopicView<'_>, partition: u32) -> Result<&PartitionRow, Missing> {
        self.partition(topic.stream, topic.topic, partition).ok_or(Missing::Partition)
    }

    /// The partition that a batch goes to. `turn` counts the batches that were left to the server, and grows
    /// with each that is.
    pub fn choose_partition(
        &self,
        topic: &TopicView<'_>,
        partitioning: Partitioning<'_>,
        turn: &mut u32,
    ) -> Result<(u32, &PartitionRow), Missing> {
        let partitions = NonZeroU32::new(topic.partitions).ok_or(Missing::Partition)?;
        let partition = match partitioning {
            Partitioning::Partition(partition) => partition,
            Partitioning::Key(key) => place_of_key(key, partitions),
            Partitioning::Balanced => {
                let partition = *turn % partitions;
                *turn = turn.wrapping_add(1);
                partition
            }
        };
        Ok((partition, self.find_partition(topic, partition)?))
    }
}
