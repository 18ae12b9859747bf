//! Reading a segment whole and past damage: every batch is held against its checksums, and the offsets that no batch
//! has any more are the ones that are lost.

use ng_io::Buffer;
use ng_wire::batch::{BATCH_HEADER_BYTES, BatchHeader, Verified, verify_front};

use super::tail::{Passing, Tail};
use crate::manifest::UnsealedSegment;
use crate::segments_file::SegmentEntry;
use crate::{PAGE, footer};

/// Bytes read at a time.
pub(super) const PIECE: usize = 1 << 20;

/// How often a piece is read before its pages are read one by one, and each of those before it counts as lost: some
/// disks fail a read once.
const ATTEMPTS: u8 = 3;

/// A batch header never begins with this many zeroes: its length, which is not zero, ends before.
const HEADER_ZEROES: usize = 40;

/// What a survey may expect of its segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expected {
    /// Messages up to this offset are vouched for: damage before it is searched past, damage after it ends the
    /// segment, because the journal holds what follows.
    pub(super) vouched: Option<u64>,
    /// Base offset of the next segment, or `u64::MAX`.
    pub(super) below: u64,
    /// Bytes of its batches, where the list of segments says so: zeroes before that are damage.
    pub(super) bytes: Option<u64>,
}

impl Expected {
    /// A sealed segment, as the list describes it.
    pub(super) const fn of(entry: &SegmentEntry) -> Self {
        Self { vouched: Some(entry.last_offset), below: entry.last_offset + 1, bytes: Some(entry.bytes) }
    }
}

/// A segment being read. Read [`Survey::length`] bytes from [`Survey::offset`] and bring them to [`Survey::feed`].
#[derive(Debug)]
pub(super) struct Survey {
    expected: Expected,
    /// What a compaction left begins anywhere in its range.
    generation: u32,
    batch_bytes_max: u64,
    tail: Tail,
    partition: Option<u64>,
    /// What was read after the last batch; it begins at `position`.
    carried: Vec<u8>,
    position: u64,
    read_to: u64,
    /// Whether the bytes between the last batch and `position` are damaged.
    damaged: bool,
    lost: Vec<(u64, u64)>,
    failed: u8,
    page_by_page: bool,
    finished: bool,
    ended: bool,
    /// Whether a batch begins the file, whole, with which no segment of this name begins.
    is_foreign: bool,
    proof: Option<Proof>,
}

/// Batches of which one is whole in the file if it is that of the segment: batches do not name their group.
#[derive(Clone, Copy, Debug)]
struct Proof {
    /// Position and checksum of the first and of the last batch that the manifest knows.
    known: [(u64, u64); 2],
    found: bool,
}

/// What stands at a place.
enum Place {
    Batch(Verified),
    /// Only the bytes that follow can tell.
    Cut,
    Nothing,
    /// The first batch of another segment.
    Foreign,
}

/// A segment that was read to its end.
#[derive(Debug)]
pub(super) struct Surveyed {
    /// The batches that are whole.
    pub(super) tail: Tail,
    /// First and last of the offsets that are lost within it, or at its end up to what was vouched for.
    pub(super) lost: Vec<(u64, u64)>,
    /// Whether there is a batch at all.
    pub(super) has_batches: bool,
    /// Whether the file is that of another segment. None of its batches is taken.
    pub(super) is_foreign: bool,
}

impl Survey {
    pub(super) fn new(tail: Tail, expected: Expected, generation: u32, batch_bytes_max: u64) -> Self {
        Self {
            expected,
            generation,
            batch_bytes_max,
            tail,
            partition: None,
            carried: Vec::new(),
            position: 0,
            read_to: 0,
            damaged: false,
            lost: Vec::new(),
            failed: 0,
            page_by_page: false,
            finished: false,
            ended: false,
            is_foreign: false,
            proof: None,
        }
    }

    /// The file is that of another segment unless a batch is found in it that the manifest knows, however whole it is.
    pub(super) fn proven_by(self, described: &UnsealedSegment) -> Self {
        let known = [(0, described.first_checksum), (described.last_batch, described.last_checksum)];
        Self { proof: Some(Proof { known, found: false }), ..self }
    }

    /// Where the next piece begins: at a page, also where a segment has grown since it was read to its end.
    pub(super) const fn offset(&self) -> u64 {
        self.read_to / PAGE as u64 * PAGE as u64
    }

    /// How many bytes it has.
    pub(super) const fn length(&self) -> usize {
        if self.page_by_page { PAGE } else { PIECE }
    }

    /// Whether all batches up to there are whole.
    pub(super) fn is_whole(&self, bytes: u64) -> bool {
        self.lost.is_empty() && !self.damaged && self.tail.bytes == bytes
    }

    /// Expects more of a segment that has grown.
    pub(super) const fn expect(&mut self, vouched: u64) {
        self.expected.vouched = Some(vouched);
        (self.finished, self.ended) = (false, false);
    }

    /// Takes the next piece, of which the bytes up to `end` of the file count. True when that was the last one.
    pub(super) fn feed(&mut self, piece: Option<&Buffer>, end: u64) -> bool {
        let piece: &[u8] = piece.map_or(&[], |piece| piece);
        let is_short = piece.len() < self.length();
        self.take(piece, end, is_short)
    }

    /// Hears that the piece cannot be read. True when nothing is left to read.
    pub(super) fn fail(&mut self, end: u64) -> bool {
        self.failed += 1;
        if self.failed < ATTEMPTS {
            return false;
        }
        if !self.page_by_page {
            (self.page_by_page, self.failed) = (true, 0);
            return false;
        }
        self.take(&[0; PAGE], end, false)
    }

    fn take(&mut self, piece: &[u8], end: u64, is_short: bool) -> bool {
        let skipped = usize::try_from(self.read_to - self.offset()).unwrap_or(0);
        let wanted = usize::try_from(end - self.offset()).unwrap_or(usize::MAX);
        let fresh = piece.get(skipped..piece.len().min(wanted)).unwrap_or_default();
        self.failed = 0;
        self.finished = is_short || piece.len() >= wanted;
        self.read_to += fresh.len() as u64;
        if self.page_by_page && self.read_to.is_multiple_of(PIECE as u64) {
            self.page_by_page = false;
        }
        if !self.ended {
            self.carried.extend_from_slice(fresh);
            self.advance();
        }
        self.finished
    }

    fn advance(&mut self) {
        let mut at = 0;
        while !self.ended {
            let rest = &self.carried[at..];
            if rest.is_empty() {
                break;
            }
            let place = match self.place(rest) {
                Place::Nothing if self.position == 0 && at == 0 => self.other_front(rest),
                place => place,
            };
            match place {
                Place::Batch(batch) => {
                    let length = usize::try_from(batch.header.length).unwrap_or(rest.len());
                    let position = self.position + at as u64;
                    self.absorb(at..at + length, position, &batch);
                    at += length;
                }
                Place::Cut => break,
                Place::Foreign => (self.is_foreign, self.ended) = (true, true),
                Place::Nothing if self.ends_here(rest, at) => self.ended = true,
                Place::Nothing => match self.behind(rest) {
                    Some(skipped) => {
                        self.damaged = true;
                        at += skipped;
                    }
                    None => break,
                },
            }
        }
        self.position += at as u64;
        self.carried.drain(..at);
        if self.ended {
            self.carried = Vec::new();
        }
    }

    /// What begins at the front of `rest`.
    fn place(&self, rest: &[u8]) -> Place {
        let cut = if self.finished { Place::Nothing } else { Place::Cut };
        if rest.len() < BATCH_HEADER_BYTES {
            return cut;
        }
        let Some(length) = self.plausible(rest) else { return Place::Nothing };
        if length > rest.len() {
            return cut;
        }
        match verify_front(rest) {
            Ok(batch) if batch.last_offset < self.expected.below => Place::Batch(batch),
            _ => Place::Nothing,
        }
    }

    /// What begins a file that does not begin with a batch of its segment: damage, unless it is a batch all the same. Batches
    /// do not name their group.
    fn other_front(&self, rest: &[u8]) -> Place {
        let Ok(header) = BatchHeader::decode(rest) else { return Place::Nothing };
        let other = self.generation == 0 && header.base_offset != self.tail.base_offset;
        let length = usize::try_from(header.length).unwrap_or(usize::MAX);
        if !other || header.length > self.batch_bytes_max {
            Place::Nothing
        } else if length > rest.len() {
            if self.finished { Place::Nothing } else { Place::Cut }
        } else if verify_front(rest).is_ok() {
            Place::Foreign
        } else {
            Place::Nothing
        }
    }

    /// The length of the batch whose header is at the front of `rest`, if it can follow the batches before.
    fn plausible(&self, rest: &[u8]) -> Option<usize> {
        let header = BatchHeader::decode(rest).ok()?;
        // Where the damage reaches into what the journal holds, everything that follows is appended again.
        let behind = |vouched: u64| self.damaged && header.base_offset > vouched.saturating_add(1);
        let follows = !self.expected.vouched.is_some_and(behind)
            && self.partition.is_none_or(|partition| partition == header.partition)
            && header.base_offset >= self.next_offset()
            && header.base_offset < self.expected.below
            && header.length <= self.batch_bytes_max;
        // Without damage before it, the first batch begins with the offset that names the file.
        let is_first = self.generation == 0 && !self.damaged && self.tail.bytes == 0;
        let begins = !is_first || header.base_offset == self.tail.base_offset;
        usize::try_from(header.length).ok().filter(|_| follows && begins)
    }

    /// How many bytes to skip of what is damaged; nothing if more has to be read before that is known. A header that
    /// leads to the next batch is believed first: a payload may look like a batch.
    fn behind(&self, rest: &[u8]) -> Option<usize> {
        let led = (!self.damaged).then(|| self.plausible(rest)).flatten();
        let (Some(length), Ok(BatchHeader { base_offset, .. })) = (led, BatchHeader::decode(rest)) else {
            return Some(1 + zeroes(rest).saturating_sub(HEADER_ZEROES));
        };
        let Some(next) = rest.get(length..).filter(|next| !next.is_empty()) else {
            // The last batch is damaged, or the length is.
            return self.finished.then_some(1);
        };
        match self.place(next) {
            Place::Batch(batch) if batch.header.base_offset > base_offset => Some(length),
            Place::Cut => None,
            _ => Some(1),
        }
    }

    /// Whether nothing more is to be found: only zeroes follow, or the footer does. A page of zeroes with batches after it is
    /// damage.
    fn ends_here(&self, rest: &[u8], at: usize) -> bool {
        if self.expected.vouched.is_none_or(|vouched| vouched < self.next_offset()) {
            return true;
        }
        let zeroes = zeroes(rest);
        let position = usize::try_from(self.position).unwrap_or(usize::MAX).saturating_add(at);
        let page = position.next_multiple_of(PAGE) - position;
        let is_footer = rest.get(page + 16..page + 24) == Some(footer::KIND.magic.as_slice());
        self.finished && (zeroes == rest.len() || (zeroes >= page && is_footer))
    }

    fn next_offset(&self) -> u64 {
        if self.tail.bytes == 0 { self.tail.base_offset } else { self.tail.last_offset.saturating_add(1) }
    }

    fn absorb(&mut self, range: std::ops::Range<usize>, position: u64, batch: &Verified) {
        let (next, base_offset) = (self.next_offset(), batch.header.base_offset);
        if self.damaged {
            if next < base_offset {
                self.lost.push((next, base_offset - 1));
            }
            self.tail.skip_to(position);
        }
        self.damaged = false;
        if let Some(proof) = &mut self.proof {
            proof.found |= proof.known.contains(&(position, batch.header.checksum));
        }
        self.partition = Some(batch.header.partition);
        self.tail.absorb(Passing {
            bytes: &self.carried[range],
            base_offset,
            last_offset: batch.last_offset,
            timestamp: batch.header.base_timestamp,
            messages: batch.messages,
        });
    }

    pub(super) fn finish(mut self) -> Surveyed {
        let (has_batches, next) = (self.tail.bytes > 0, self.next_offset());
        // What a compaction left may end before its range does.
        let is_cut = self.expected.bytes.is_some_and(|bytes| self.tail.bytes < bytes);
        let is_short = self.generation == 0 || self.damaged || is_cut;
        if let Some(vouched) = self.expected.vouched.filter(|vouched| is_short && next <= *vouched) {
            self.lost.push((next, vouched));
        }
        // A write that was cut short may have left something behind the batches.
        self.tail.stale_to = self.read_to;
        let is_foreign = self.is_foreign || self.proof.is_some_and(|proof| !proof.found);
        Surveyed { has_batches, tail: self.tail, lost: self.lost, is_foreign }
    }
}

/// How many zeroes `bytes` begin with.
fn zeroes(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len())
}

#[cfg(test)]
mod tests {
    use ng_wire::batch::{build, stamp};

    use super::*;

    /// A compacted segment with batches of one message at the offsets 2, 4 and 6, of 1 to 9.
    fn compacted() -> Vec<u8> {
        let batch = |offset| {
            let mut bytes = build(1, &[&[7; 5_000]]);
            stamp(&mut bytes, 0, offset, offset).expect("a batch that was just built");
            bytes
        };
        [2, 4, 6].into_iter().flat_map(batch).collect()
    }

    fn lost(bytes: &[u8], listed: usize) -> Vec<(u64, u64)> {
        let expected = Expected { vouched: Some(9), below: 10, bytes: Some(listed as u64) };
        let mut survey = Survey::new(Tail::new(1, 0), expected, 1, 1 << 20);
        assert!(survey.feed(Some(&bytes.to_vec().into()), listed as u64), "one piece is all");
        survey.finish().lost
    }

    #[test]
    fn a_compacted_segment_has_gaps_and_loses_what_is_damaged() {
        let whole = compacted();
        let (length, batch) = (whole.len(), whole.len() / 3);
        assert_eq!(lost(&whole, length), []);
        let zeroed = |range: std::ops::Range<usize>| {
            let mut bytes = whole.clone();
            bytes[range].fill(0);
            lost(&bytes, length)
        };
        assert_eq!(zeroed(0..4_096), [(1, 3)]);
        assert_eq!(zeroed(batch..batch + 4_096), [(3, 5)]);
        assert_eq!(zeroed(2 * batch..length), [(5, 9)], "its end");
        assert_eq!(lost(&whole[..2 * batch], length), [(5, 9)], "cut between two batches");
    }
}
