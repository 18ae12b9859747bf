//! Cache of recently executed or read batches. A consumer close to the newest batch, or one that reads a
//! large batch in small polls, needs no disk read, and no batch is verified twice.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use ng_io::Buffer;
use ng_partition::fetch::{Cut, Selection, Source};
use ng_storage::store::FoundBatches;
use ng_wire::batch::{BatchHeader, BatchRefusal, verify};

use crate::group::Body;
use crate::poll::request::PollPart;

/// Approximate overhead of an entry in bytes.
const ENTRY_BYTES: usize = 512;

/// Maximum bytes of executed batches, further limited to a quarter of the cache. Consumers close to the
/// producers need only the newest. Each batch has its own memory, and touching a fresh page costs more than
/// to receive and write its contents.
const TAIL_BYTES_MAX: usize = 64 << 20;

/// Calls of [`PollCache::age`] without a use after which an entry is freed.
const AGE_MAX: usize = 6;

/// Start of a piece: group, purge generation, base offset of its first batch. The messages at such a position
/// change only when a compaction is adopted, or when they are deleted.
type Key = (u64, u64, u64);

/// Cached pieces of all groups.
#[derive(Debug)]
pub(crate) struct PollCache {
    kept: BTreeMap<Key, Kept>,
    /// Executed pieces and read pieces have separate bounds.
    executed: Shelf,
    read: Shelf,
    uses: u64,
    /// Value of `uses` at the last calls of [`PollCache::age`].
    ages: VecDeque<u64>,
    /// Buffers of evicted reads, to be reused by other reads.
    released: Vec<Buffer>,
}

/// Pieces that share a bound; the least recently used are evicted first.
#[derive(Debug, Default)]
struct Shelf {
    by_use: BTreeSet<(u64, Key)>,
    bytes: usize,
    bytes_max: usize,
}

#[derive(Debug)]
struct Kept {
    used: u64,
    piece: Piece,
}

/// Consecutive batches of one group.
#[derive(Debug)]
pub(crate) struct Piece {
    bytes: Shared,
    batches: Vec<Known>,
}

/// Bytes that answers share.
#[derive(Debug)]
enum Shared {
    Executed(Body),
    Read(Arc<Buffer>),
}

#[derive(Debug)]
struct Known {
    range: Range<usize>,
    base_offset: u64,
    /// Offset of its last message, once all its checksums are verified.
    verified: Option<u64>,
}

impl Piece {
    /// A batch that was verified on arrival.
    pub(crate) fn executed(body: Body, base_offset: u64, last_offset: u64) -> Self {
        let known = Known { range: 0..body.len(), base_offset, verified: Some(last_offset) };
        Self { bytes: Shared::Executed(body), batches: vec![known] }
    }

    /// Batches from a disk; they are verified on first use.
    pub(crate) fn read(found: &mut FoundBatches) -> Self {
        let buffer = std::mem::take(&mut found.buffer);
        let known = |range: &Range<usize>| {
            let header = BatchHeader::decode(buffer.get(range.clone())?).ok()?;
            Some(Known { range: range.clone(), base_offset: header.base_offset, verified: None })
        };
        let batches = found.batches.iter().map_while(known).collect();
        Self { batches, bytes: Shared::Read(Arc::new(buffer)) }
    }

    /// The piece was never on a disk.
    const fn was_executed(&self) -> bool {
        matches!(self.bytes, Shared::Executed(_))
    }

    /// The first batch.
    pub(crate) fn first(&self) -> &[u8] {
        self.batches.first().map_or(&[], |known| self.bytes.of(&known.range))
    }

    /// Bytes of memory that the piece holds.
    pub(crate) fn held(&self) -> usize {
        match &self.bytes {
            Shared::Executed(body) => body.footprint(),
            Shared::Read(buffer) => buffer.footprint(),
        }
    }

    /// Takes the wanted messages up to offset `until`. Returns the position at which the next poll continues.
    pub(crate) fn take(
        &mut self,
        selection: &mut Selection,
        until: u64,
        parts: &mut Vec<PollPart>,
    ) -> (usize, Result<(), BatchRefusal>) {
        let next = selection.next();
        let first = self.batches.partition_point(|known| known.base_offset <= next).saturating_sub(1);
        let mut goes_on_at = self.batches.get(first).map_or(0, |known| known.range.start);
        let Self { bytes, batches } = self;
        for known in batches.iter_mut().skip(first) {
            if selection.is_full() || known.base_offset > until {
                break;
            }
            let batch = bytes.of(&known.range);
            match selection.take(batch, known.source(batch)) {
                Ok(Some(cut)) => {
                    let whole = cut.range.end == batch.len();
                    goes_on_at = if whole { known.range.end } else { known.range.start };
                    bytes.push(cut, known.range.start, parts);
                }
                Ok(None) if selection.is_full() => {}
                Ok(None) => goes_on_at = known.range.end,
                Err(refusal) => return (goes_on_at, Err(refusal)),
            }
        }
        (goes_on_at, Ok(()))
    }
}

impl Known {
    /// Verifies the batch once. If one message is damaged, the others are still usable, because each has its
    /// own checksum.
    fn source(&mut self, batch: &[u8]) -> Source {
        if self.verified.is_none() {
            self.verified = verify(batch).ok().map(|verified| verified.last_offset);
        }
        self.verified.map_or(Source::Disk, Source::Memory)
    }
}

impl Shared {
    fn of(&self, range: &Range<usize>) -> &[u8] {
        let bytes = match self {
            Self::Executed(body) => &body[..],
            Self::Read(buffer) => buffer,
        };
        bytes.get(range.clone()).unwrap_or_default()
    }

    fn push(&self, cut: Cut, start: usize, parts: &mut Vec<PollPart>) {
        let range = start + cut.range.start..start + cut.range.end;
        parts.extend(cut.header.map(PollPart::Header));
        parts.push(match self {
            Self::Executed(body) => PollPart::Kept(body.clone(), range),
            Self::Read(buffer) => PollPart::Read(buffer.clone(), range),
        });
    }
}

impl Shelf {
    /// Next entry to evict, if the shelf exceeds its bound.
    fn surplus(&self) -> Option<Key> {
        self.by_use.first().filter(|_| self.bytes > self.bytes_max).map(|(_, oldest)| *oldest)
    }

    /// Least recently used entry, if its last use is not after `use_`.
    fn unused_since(&self, use_: u64) -> Option<Key> {
        self.by_use.first().filter(|(used, _)| *used <= use_).map(|(_, oldest)| *oldest)
    }
}

impl PollCache {
    pub(crate) fn new(bytes_max: usize) -> Self {
        let mut cache = Self {
            kept: BTreeMap::new(),
            executed: Shelf::default(),
            read: Shelf::default(),
            uses: 0,
            ages: VecDeque::new(),
            released: Vec::new(),
        };
        cache.set_bytes_max(bytes_max);
        cache
    }

    /// Sets the bound in bytes.
    pub(crate) fn set_bytes_max(&mut self, bytes_max: usize) {
        self.executed.bytes_max = (bytes_max / 4).min(TAIL_BYTES_MAX);
        self.read.bytes_max = bytes_max - self.executed.bytes_max;
        self.shrink();
    }

    /// Caches a piece of a group.
    pub(crate) fn keep(&mut self, group: u64, generation: u64, piece: Piece) {
        let Some(base_offset) = piece.batches.first().map(|known| known.base_offset) else { return };
        let key = (group, generation, base_offset);
        self.remove(key);
        self.uses += 1;
        let used = self.uses;
        let shelf = self.shelf_of(&piece);
        shelf.bytes += piece.held() + ENTRY_BYTES;
        shelf.by_use.insert((used, key));
        self.kept.insert(key, Kept { used, piece });
        self.shrink();
    }

    /// The piece that may contain the message at an offset.
    pub(crate) fn get(&mut self, group: u64, generation: u64, offset: u64) -> Option<&mut Piece> {
        let (from, to) = ((group, generation, 0), (group, generation, offset));
        let Self { kept, executed, read, uses, .. } = self;
        let (key, kept) = kept.range_mut(from..=to).next_back()?;
        let shelf = if kept.piece.was_executed() { executed } else { read };
        shelf.by_use.remove(&(kept.used, *key));
        *uses += 1;
        kept.used = *uses;
        shelf.by_use.insert((*uses, *key));
        Some(&mut kept.piece)
    }

    /// Removes a group, because it was purged or deleted.
    pub(crate) fn forget(&mut self, group: u64) {
        self.forget_between(group, 0, u64::MAX);
    }

    /// Removes pieces that begin in this range of offsets, because a compaction has replaced their messages.
    pub(crate) fn forget_between(&mut self, group: u64, first: u64, last: u64) {
        let of_group = self.kept.range((group, 0, 0)..=(group, u64::MAX, u64::MAX)).map(|(key, _)| *key);
        let keys: Vec<Key> = of_group.filter(|(.., begins)| (first..=last).contains(begins)).collect();
        for key in keys {
            self.remove(key);
        }
    }

    /// Bytes of memory in use.
    pub(crate) const fn bytes(&self) -> usize {
        self.executed.bytes + self.read.bytes
    }

    /// Frees entries without a use for a minute. The caller calls it every ten seconds. Returns the number of
    /// bytes freed.
    pub(crate) fn age(&mut self) -> usize {
        self.ages.push_back(self.uses);
        if self.ages.len() <= AGE_MAX {
            return 0;
        }
        let (old, before) = (self.ages.pop_front().unwrap_or(0), self.bytes());
        while let Some(key) = self.executed.unused_since(old).or_else(|| self.read.unused_since(old)) {
            self.remove(key);
        }
        self.released.clear();
        before - self.bytes()
    }

    /// Buffers evicted since the last call.
    pub(crate) fn released(&mut self) -> impl Iterator<Item = Buffer> + '_ {
        self.released.drain(..)
    }

    fn remove(&mut self, key: Key) {
        if let Some(Kept { used, piece }) = self.kept.remove(&key) {
            let shelf = self.shelf_of(&piece);
            shelf.by_use.remove(&(used, key));
            shelf.bytes -= piece.held() + ENTRY_BYTES;
            if let Shared::Read(buffer) = piece.bytes {
                self.released.extend(Arc::into_inner(buffer));
            }
        }
    }

    const fn shelf_of(&mut self, piece: &Piece) -> &mut Shelf {
        if piece.was_executed() { &mut self.executed } else { &mut self.read }
    }

    fn shrink(&mut self) {
        while let Some(oldest) = self.executed.surplus().or_else(|| self.read.surplus()) {
            self.remove(oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use ng_wire::batch::build;

    use super::*;

    fn piece(base_offset: u64, bytes: usize) -> Piece {
        let mut batch = build(1, &[&vec![7; bytes]]);
        let header = BatchHeader { base_offset, ..BatchHeader::decode(&batch).expect("a batch") };
        batch[..header.encode().len()].copy_from_slice(&header.encode());
        Piece::executed(Arc::new(batch.into()), base_offset, base_offset)
    }

    #[test]
    fn the_least_recently_used_is_evicted_first_and_the_bound_holds() {
        let mut cache = PollCache::new(40_000);
        for base_offset in 0..3 {
            cache.keep(1, 0, piece(base_offset, 2000));
        }
        assert!(cache.get(1, 0, 0).is_some_and(|piece| piece.batches[0].base_offset == 0));
        cache.keep(1, 0, piece(3, 3000));
        let kept: Vec<u64> = cache.kept.keys().map(|(.., base_offset)| *base_offset).collect();
        assert_eq!(kept, [0, 2, 3]);
        assert!(cache.executed.bytes <= 10_000);
        cache.keep(1, 0, piece(4, 20_000));
        let left = (cache.executed.bytes, cache.kept.len(), cache.executed.by_use.len());
        assert_eq!(left, (0, 0, 0), "too large by itself");
    }

    #[test]
    fn entries_without_use_for_a_minute_are_freed() {
        let mut cache = PollCache::new(400_000);
        (0..3).for_each(|base_offset| cache.keep(1, 0, piece(base_offset, 2_000)));
        for _ in 0..AGE_MAX {
            assert_eq!(cache.age(), 0);
            assert!(cache.get(1, 0, 1).is_some_and(|piece| piece.batches[0].base_offset == 1));
        }
        let before = cache.bytes();
        assert_eq!(cache.age(), before / 3 * 2);
        assert_eq!(cache.kept.keys().map(|(.., begins)| *begins).collect::<Vec<_>>(), [1]);
        let freed: usize = (0..=AGE_MAX).map(|_| cache.age()).sum();
        assert_eq!((freed, cache.bytes(), cache.kept.len()), (before / 3, 0, 0));
    }

    #[test]
    fn another_generation_or_group_has_nothing_of_it() {
        let mut cache = PollCache::new(400_000);
        cache.keep(1, 5, piece(10, 100));
        assert!(cache.get(1, 5, 10).is_some() && cache.get(1, 5, 11).is_some());
        assert!(
            cache.get(1, 5, 9).is_none() && cache.get(1, 6, 10).is_none() && cache.get(2, 5, 10).is_none()
        );
        cache.keep(1, 5, piece(20, 100));
        cache.forget_between(1, 11, 20);
        assert_eq!(cache.kept.keys().map(|(.., begins)| *begins).collect::<Vec<_>>(), [10]);
        cache.forget(1);
        assert_eq!((cache.executed.bytes, cache.executed.by_use.len()), (0, 0));
    }
}
