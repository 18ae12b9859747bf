//! Indexes of segments in memory, those that were asked for last.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::index::{Index, IndexEntry};

/// Bytes of indexes that are kept.
const BYTES_MAX: usize = 16 << 20;

/// Whose index it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct IndexKey {
    pub(super) group: u64,
    pub(super) base_offset: u64,
    pub(super) generation: u32,
}

#[derive(Debug, Default)]
pub(super) struct IndexCache {
    kept: BTreeMap<IndexKey, (u64, Arc<Index>)>,
    by_use: BTreeSet<(u64, IndexKey)>,
    bytes: usize,
    uses: u64,
}

impl IndexCache {
    pub(super) fn get(&mut self, key: IndexKey) -> Option<Arc<Index>> {
        let (used, index) = self.kept.get_mut(&key)?;
        self.by_use.remove(&(*used, key));
        self.uses += 1;
        *used = self.uses;
        self.by_use.insert((self.uses, key));
        Some(index.clone())
    }

    pub(super) fn put(&mut self, key: IndexKey, index: Arc<Index>) {
        self.remove(key);
        self.uses += 1;
        self.bytes += bytes_of(&index);
        self.kept.insert(key, (self.uses, index));
        self.by_use.insert((self.uses, key));
        while self.bytes > BYTES_MAX && self.kept.len() > 1 {
            let Some((_, oldest)) = self.by_use.first().copied() else { return };
            self.remove(oldest);
        }
    }

    pub(super) fn remove(&mut self, key: IndexKey) {
        if let Some((used, index)) = self.kept.remove(&key) {
            self.by_use.remove(&(used, key));
            self.bytes -= bytes_of(&index);
        }
    }
}

fn bytes_of(index: &Index) -> usize {
    128 + size_of::<IndexEntry>() * index.entries.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(base_offset: u64) -> IndexKey {
        IndexKey { group: 1, base_offset, generation: 0 }
    }

    fn index(entries: usize) -> Arc<Index> {
        let entries = vec![IndexEntry { offset: 0, timestamp: 0, position: 0 }; entries];
        Arc::new(Index {
            group: 1,
            base_offset: 0,
            segment_bytes: 1,
            generation: 0,
            first_checksum: 0,
            entries,
        })
    }

    #[test]
    fn what_was_not_used_for_longest_goes_first() {
        let mut cache = IndexCache::default();
        for base_offset in 0..3 {
            cache.put(key(base_offset), index(200_000));
        }
        assert!(cache.get(key(0)).is_some());
        cache.put(key(3), index(200_000));
        let there: Vec<u64> = (0..4).filter(|number| cache.get(key(*number)).is_some()).collect();
        assert_eq!(there, [0, 2, 3]);
        cache.put(key(4), index(2_000_000));
        assert_eq!(cache.kept.len(), 1, "one alone may be larger than all may be together");
        cache.remove(key(4));
        assert_eq!((cache.bytes, cache.by_use.len()), (0, 0));
    }
}
