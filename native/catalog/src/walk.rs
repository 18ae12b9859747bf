//! The rows in the order of their keys, from any place on.

use std::ops::Bound::{self, Excluded, Included, Unbounded};

use crate::catalog::Catalog;
use crate::deltas::put_row;
use crate::key::RowKey;
use crate::rows::RowRef;

impl Catalog {
    /// Every row from a place on, ascending by key.
    pub fn rows(&self, from: Bound<RowKey>) -> impl Iterator<Item = RowRef<'_>> {
        let counters = self.counters.filter(|_| matches!(from, Unbounded | Included(RowKey::Counters)));
        let mut counters = counters.map(RowRef::Counters);
        let streams = self.streams.range((streams_from(from), Unbounded));
        let mut streams = streams.map(|(stream, entry)| RowRef::Stream(*stream, &entry.row)).peekable();
        let topics = self.topics.range((topics_from(from), Unbounded));
        let mut topics =
            topics.map(|((stream, topic), entry)| RowRef::Topic(*stream, *topic, &entry.row)).peekable();
        let partitions = self.partitions.range((partitions_from(from), Unbounded));
        let mut partitions = partitions
            .map(|((stream, topic, partition), row)| RowRef::Partition(*stream, *topic, *partition, row))
            .peekable();
        std::iter::from_fn(move || {
            if counters.is_some() {
                return counters.take();
            }
            let heads = [streams.peek(), topics.peek(), partitions.peek()];
            match heads.into_iter().flatten().map(|row| row.key()).min()? {
                RowKey::Counters => None,
                RowKey::Stream(_) => streams.next(),
                RowKey::Topic { .. } => topics.next(),
                RowKey::Partition { .. } => partitions.next(),
            }
        })
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
}

fn streams_from(from: Bound<RowKey>) -> Bound<u32> {
    match from {
        Unbounded | Included(RowKey::Counters) | Excluded(RowKey::Counters) => Unbounded,
        Included(RowKey::Stream(stream)) => Included(stream),
        Excluded(RowKey::Stream(stream))
        | Included(RowKey::Topic { stream, .. } | RowKey::Partition { stream, .. })
        | Excluded(RowKey::Topic { stream, .. } | RowKey::Partition { stream, .. }) => Excluded(stream),
    }
}

fn topics_from(from: Bound<RowKey>) -> Bound<(u32, u32)> {
    match from {
        Unbounded | Included(RowKey::Counters) | Excluded(RowKey::Counters) => Unbounded,
        Included(RowKey::Stream(stream)) | Excluded(RowKey::Stream(stream)) => Included((stream, 0)),
        Included(RowKey::Topic { stream, topic }) => Included((stream, topic)),
        Excluded(RowKey::Topic { stream, topic } | RowKey::Partition { stream, topic, .. })
        | Included(RowKey::Partition { stream, topic, .. }) => Excluded((stream, topic)),
    }
}

fn partitions_from(from: Bound<RowKey>) -> Bound<(u32, u32, u32)> {
    match from {
        Unbounded | Included(RowKey::Counters) | Excluded(RowKey::Counters) => Unbounded,
        Included(RowKey::Stream(stream)) | Excluded(RowKey::Stream(stream)) => Included((stream, 0, 0)),
        Included(RowKey::Topic { stream, topic }) | Excluded(RowKey::Topic { stream, topic }) => {
            Included((stream, topic, 0))
        }
        Included(RowKey::Partition { stream, topic, partition }) => Included((stream, topic, partition)),
        Excluded(RowKey::Partition { stream, topic, partition }) => Excluded((stream, topic, partition)),
    }
}
