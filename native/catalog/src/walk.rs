//! The rows in the order of their keys, from any place on.

use std::ops::Bound::{self, Excluded, Included, Unbounded};

use crate::catalog::Catalog;
use crate::deltas::put_row;
use crate::key::{PARTITION_TAGS, RowKey, STREAM_TAGS, TOPIC_TAGS, USER_TAGS};
use crate::place::place;
use crate::rows::RowRef;

impl Catalog {
    /// Every row from a place on, ascending by key.
    pub fn rows(&self, from: Bound<RowKey>) -> impl Iterator<Item = RowRef<'_>> {
        match from {
            Unbounded => self.rows_from(&[]),
            Included(key) => self.rows_from(&key.bytes()),
            // The least bytes behind those of the key.
            Excluded(key) => self.rows_from(&[&*key.bytes(), &[0]].concat()),
        }
    }

    /// The keys that begin with some bytes, wherever in a number those end, ascending.
    pub(crate) fn keys_under(&self, prefix: &[u8]) -> impl Iterator<Item = RowKey> {
        self.rows_from(prefix).map(RowRef::key).take_while(|key| key.bytes().starts_with(prefix))
    }

    /// Appends the rows from a place on as puts, while they fit into `bytes_max` and one at least. Where the
    /// next piece begins, unless this is the last.
    pub fn put_piece(&self, from: Bound<RowKey>, bytes_max: usize, into: &mut Vec<u8>) -> Option<RowKey> {
        let start = into.len();
        for row in self.rows(from) {
            let before = into.len();
            put_row(into, row);
            if before > start && into.len() - start > bytes_max {
                into.truncate(before);
                return Some(row.key());
            }
        }
        None
    }

    /// Every row whose key is at or behind these bytes, ascending.
    fn rows_from<'a>(&'a self, from: &[u8]) -> impl Iterator<Item = RowRef<'a>> + use<'a> {
        let counters = self.counters.filter(|_| from <= &*RowKey::Counters.bytes());
        let counters = counters.map(RowRef::Counters).into_iter();
        counters.chain(self.stream_rows_from(from)).chain(self.user_rows_from(from))
    }

    /// Streams and what they hold.
    fn stream_rows_from<'a>(&'a self, from: &[u8]) -> impl Iterator<Item = RowRef<'a>> + use<'a> {
        let first = place(STREAM_TAGS, from).map(|[stream]| stream);
        let streams = self.streams.range((first, Unbounded));
        let mut streams = streams.map(|(stream, entry)| RowRef::Stream(*stream, &entry.row)).peekable();
        let first = place(TOPIC_TAGS, from).map(<(u32, u32)>::from);
        let topics = self.topics.range((first, Unbounded));
        let mut topics =
            topics.map(|((stream, topic), entry)| RowRef::Topic(*stream, *topic, &entry.row)).peekable();
        let first = place(PARTITION_TAGS, from).map(<(u32, u32, u32)>::from);
        let partitions = self.partitions.range((first, Unbounded));
        let mut partitions = partitions
            .map(|((stream, topic, partition), row)| RowRef::Partition(*stream, *topic, *partition, row))
            .peekable();
        std::iter::from_fn(move || {
            let heads = [streams.peek(), topics.peek(), partitions.peek()];
            match heads.into_iter().flatten().map(|row| row.key()).min()? {
                RowKey::Stream(_) => streams.next(),
                RowKey::Topic { .. } => topics.next(),
                RowKey::Partition { .. } => partitions.next(),
                key @ (RowKey::Counters | RowKey::NextUser | RowKey::User(_)) => {
                    unreachable!("no stream holds {key:?}")
                }
            }
        })
    }

    /// The number of the next user, and users.
    fn user_rows_from<'a>(&'a self, from: &[u8]) -> impl Iterator<Item = RowRef<'a>> + use<'a> {
        let next = self.next_user.filter(|_| from <= &*RowKey::NextUser.bytes());
        let users = self.users.range((place(USER_TAGS, from).map(|[user]| user), Unbounded));
        let users = users.map(|(user, row)| RowRef::User(*user, row));
        next.map(RowRef::NextUser).into_iter().chain(users)
    }
}
