//! Which rows a delete takes: those whose key begins with its bytes, wherever in a number they end.

use std::ops::RangeInclusive;

use crate::key::{CHILD, COUNTERS, RowKey, STREAM};

/// From the first to the last key that begins with `prefix`; `None` if no key does.
pub(crate) fn covered(prefix: &[u8]) -> Option<RangeInclusive<RowKey>> {
    let rest = match prefix {
        [] => return Some(RowKey::Counters..=RowKey::Partition { stream: MAX, topic: MAX, partition: MAX }),
        [COUNTERS] => return Some(RowKey::Counters..=RowKey::Counters),
        [STREAM, rest @ ..] => rest,
        _ => return None,
    };
    let (streams, rest) = numbers(rest);
    let (stream, last) = streams.into_inner();
    if rest.is_empty() {
        return Some(RowKey::Stream(stream)..=RowKey::Partition { stream: last, topic: MAX, partition: MAX });
    }
    let (topics, rest) = numbers(rest.strip_prefix(&[CHILD])?);
    let (topic, last) = topics.into_inner();
    if rest.is_empty() {
        return Some(
            RowKey::Topic { stream, topic }..=RowKey::Partition { stream, topic: last, partition: MAX },
        );
    }
    let (partitions, rest) = numbers(rest.strip_prefix(&[CHILD])?);
    let (partition, last) = partitions.into_inner();
    let first = RowKey::Partition { stream, topic, partition };
    rest.is_empty().then_some(first..=RowKey::Partition { stream, topic, partition: last })
}

const MAX: u32 = u32::MAX;

/// The numbers that begin with the next four bytes, or with all that is left of them; and what follows.
fn numbers(bytes: &[u8]) -> (RangeInclusive<u32>, &[u8]) {
    let (begun, rest) = bytes.split_at(bytes.len().min(size_of::<u32>()));
    let (mut first, mut last) = ([0; size_of::<u32>()], [0xff; size_of::<u32>()]);
    first[..begun.len()].copy_from_slice(begun);
    last[..begun.len()].copy_from_slice(begun);
    (u32::from_be_bytes(first)..=u32::from_be_bytes(last), rest)
}
