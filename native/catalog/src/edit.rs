//! One row in, one row out: tables, indexes and digest together. Only [`fold`](crate::Catalog::fold) calls this.

use std::collections::HashMap;
use std::mem;

use ng_wire::table::row::UserStatus;

use crate::catalog::{Catalog, StreamEntry, TopicEntry};
use crate::key::RowKey;
use crate::refusal::FoldRefusal;
use crate::rows::{PartitionRow, Row, RowRef, StreamRow, TopicRow};
use crate::user_row::UserRow;

impl Catalog {
    /// Whether a row can be put: what it belongs to is there, and nothing else has its name.
    pub(crate) fn admits(&self, row: RowRef<'_>) -> Result<(), FoldRefusal> {
        let key = row.key();
        let (owner, number) = match row {
            RowRef::Counters(_) | RowRef::NextUser(_) => return Ok(()),
            RowRef::User(user, row) => (self.user_ids.get(&row.name), user),
            RowRef::Stream(stream, row) => (self.stream_ids.get(&row.name), stream),
            RowRef::Topic(stream, topic, row) => {
                let stream = self.streams.get(&stream).ok_or(FoldRefusal::Orphan(key))?;
                (stream.topic_ids.get(&row.name), topic)
            }
            RowRef::Partition(stream, topic, ..) => {
                let topic = self.topics.get(&(stream, topic));
                return topic.map(|_| ()).ok_or(FoldRefusal::Orphan(key));
            }
        };
        match owner {
            Some(other) if *other != number => Err(FoldRefusal::NameTaken(key)),
            _ => Ok(()),
        }
    }

    /// Puts a row that is [admitted](Self::admits); hands out the one it replaces.
    pub(crate) fn insert(&mut self, row: Row) -> Option<Row> {
        self.digest.add(row.by_ref());
        let before = match row {
            Row::Counters(row) => self.counters.replace(row).map(Row::Counters),
            Row::Stream(stream, row) => {
                self.insert_stream(stream, row).map(|before| Row::Stream(stream, before))
            }
            Row::Topic(stream, topic, row) => {
                self.insert_topic(stream, topic, row).map(|before| Row::Topic(stream, topic, before))
            }
            Row::Partition(stream, topic, partition, row) => self
                .insert_partition(stream, topic, partition, row)
                .map(|before| Row::Partition(stream, topic, partition, before)),
            Row::NextUser(user) => self.next_user.replace(user).map(Row::NextUser),
            Row::User(user, row) => self.insert_user(user, row).map(|before| Row::User(user, before)),
        };
        if let Some(before) = &before {
            self.digest.subtract(before.by_ref());
        }
        before
    }

    /// Takes away a row that holds no other.
    pub(crate) fn remove(&mut self, key: RowKey) -> Option<Row> {
        let row = match key {
            RowKey::Counters => self.counters.take().map(Row::Counters),
            RowKey::Stream(stream) => self.streams.remove(&stream).map(|entry| {
                self.stream_ids.remove(&entry.row.name);
                Row::Stream(stream, entry.row)
            }),
            RowKey::Topic { stream, topic } => self.topics.remove(&(stream, topic)).map(|entry| {
                if let Some(stream) = self.streams.get_mut(&stream) {
                    stream.topic_ids.remove(&entry.row.name);
                }
                Row::Topic(stream, topic, entry.row)
            }),
            RowKey::Partition { stream, topic, partition } => {
                self.partitions.remove(&(stream, topic, partition)).map(|row| {
                    if let Some(topic) = self.topics.get_mut(&(stream, topic)) {
                        topic.partitions -= 1;
                    }
                    Row::Partition(stream, topic, partition, row)
                })
            }
            RowKey::NextUser => self.next_user.take().map(Row::NextUser),
            RowKey::User(user) => self.users.remove(&user).map(|row| {
                self.user_ids.remove(&row.name);
                self.user_rights.revoke(user);
                Row::User(user, row)
            }),
        };
        if let Some(row) = &row {
            self.digest.subtract(row.by_ref());
        }
        row
    }

    fn insert_stream(&mut self, stream: u32, row: StreamRow) -> Option<StreamRow> {
        let name = row.name.clone();
        let before = if let Some(entry) = self.streams.get_mut(&stream) {
            Some(mem::replace(&mut entry.row, row))
        } else {
            self.streams.insert(stream, StreamEntry { row, topic_ids: HashMap::new() });
            None
        };
        if let Some(before) = &before {
            self.stream_ids.remove(&before.name);
        }
        self.stream_ids.insert(name, stream);
        before
    }

    fn insert_topic(&mut self, stream: u32, topic: u32, row: Box<TopicRow>) -> Option<Box<TopicRow>> {
        let name = row.name.clone();
        let before = if let Some(entry) = self.topics.get_mut(&(stream, topic)) {
            Some(mem::replace(&mut entry.row, row))
        } else {
            self.topics.insert((stream, topic), TopicEntry { row, partitions: 0 });
            None
        };
        if let Some(stream) = self.streams.get_mut(&stream) {
            if let Some(before) = &before {
                stream.topic_ids.remove(&before.name);
            }
            stream.topic_ids.insert(name, topic);
        }
        before
    }

    fn insert_partition(
        &mut self,
        stream: u32,
        topic: u32,
        partition: u32,
        row: PartitionRow,
    ) -> Option<PartitionRow> {
        let before = self.partitions.insert((stream, topic, partition), row);
        if before.is_none()
            && let Some(topic) = self.topics.get_mut(&(stream, topic))
        {
            topic.partitions += 1;
        }
        before
    }

    fn insert_user(&mut self, user: u32, row: Box<UserRow>) -> Option<Box<UserRow>> {
        let name = row.name.clone();
        match row.status {
            UserStatus::Active => {
                let permissions = row.decoded_permissions().expect("judged when the row was read");
                self.user_rights.grant(user, &permissions);
            }
            UserStatus::Inactive => self.user_rights.revoke(user),
        }
        let before = self.users.insert(user, row);
        if let Some(before) = &before {
            self.user_ids.remove(&before.name);
        }
        self.user_ids.insert(name, user);
        before
    }
}
