//! Records: the messages between the engine and Python, as bytes.
//!
//! ```text
//! offset  size  field
//!      0     4  length of the whole record, this header included
//!      4     2  kind
//!      6     2  shard the record is about
//!      8     8  token: links an answer to its question
//!     16        body
//! ```
//!
//! All integers are little-endian; strings are a u32 length and UTF-8. Rings hold whole records only. Kinds
//! and bodies are in [`ng_wire::table::record`].

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rtrb::{Consumer, Producer, RingBuffer};

/// Bytes of a record's header.
pub const RECORD_HEADER_BYTES: usize = 16;

/// Capacity in bytes of a ring between the engine and Python: a stalled side costs at most this much memory.
pub const RECORD_RING_BYTES: usize = 256 * 1024;

/// One record, borrowed from the bytes that contain it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// Kind of record, which determines the layout of the body.
    pub kind: u16,
    /// Shard that the record is about.
    pub shard: u16,
    /// Links an answer to its question.
    pub token: u64,
    /// Content, in the layout of the kind.
    pub body: &'a [u8],
}

impl<'a> Record<'a> {
    /// Splits the first record off `bytes`. Returns `None` if the bytes are not a sequence of records.
    pub fn split(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let length = u32::from_le_bytes(*bytes.first_chunk()?) as usize;
        if length < RECORD_HEADER_BYTES {
            return None;
        }
        let (record, rest) = bytes.split_at_checked(length)?;
        let field = |from: usize, to: usize| record.get(from..to);
        let kind = u16::from_le_bytes(field(4, 6)?.try_into().ok()?);
        let shard = u16::from_le_bytes(field(6, 8)?.try_into().ok()?);
        let token = u64::from_le_bytes(field(8, 16)?.try_into().ok()?);
        Some((Self { kind, shard, token, body: &record[RECORD_HEADER_BYTES..] }, rest))
    }

    /// Appends the record to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        let length = RECORD_HEADER_BYTES + self.body.len();
        out.extend_from_slice(&u32::try_from(length).expect("records are far below 4 GiB").to_le_bytes());
        out.extend_from_slice(&self.kind.to_le_bytes());
        out.extend_from_slice(&self.shard.to_le_bytes());
        out.extend_from_slice(&self.token.to_le_bytes());
        out.extend_from_slice(self.body);
    }
}

/// The ring has no room for the record now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingFull;

/// The writing end of a record ring.
#[derive(Debug)]
pub struct RecordWriter {
    ring: Producer<u8>,
    scratch: Vec<u8>,
    /// The last record did not fit.
    is_full: bool,
    times_full: Arc<AtomicU64>,
}

/// The reading end of a record ring.
#[derive(Debug)]
pub struct RecordReader {
    ring: Consumer<u8>,
    times_full: Arc<AtomicU64>,
}

/// Makes a ring of records.
pub fn record_ring(bytes: usize) -> (RecordWriter, RecordReader) {
    let (producer, consumer) = RingBuffer::new(bytes);
    let times_full = Arc::new(AtomicU64::new(0));
    let reader = RecordReader { ring: consumer, times_full: times_full.clone() };
    (RecordWriter { ring: producer, scratch: Vec::new(), is_full: false, times_full }, reader)
}

impl RecordWriter {
    /// Writes the whole record, or nothing if it does not fit.
    pub fn push(&mut self, record: &Record<'_>) -> Result<(), RingFull> {
        let mut bytes = std::mem::take(&mut self.scratch);
        bytes.clear();
        record.write(&mut bytes);
        let pushed = self.push_encoded(&bytes);
        self.scratch = bytes;
        pushed
    }

    /// Counts consecutive failures once, because some records are tried again every few milliseconds.
    fn push_encoded(&mut self, record: &[u8]) -> Result<(), RingFull> {
        let pushed = self.ring.push_entire_slice(record).map_err(|_| RingFull);
        if pushed.is_err() && !self.is_full {
            self.times_full.fetch_add(1, Ordering::Relaxed);
        }
        self.is_full = pushed.is_err();
        pushed
    }

    /// Number of times the ring became full.
    pub fn times_full(&self) -> u64 {
        self.times_full.load(Ordering::Relaxed)
    }

    /// Writes records from `bytes` until one does not fit. Returns the number of bytes taken.
    pub fn push_all(&mut self, bytes: &[u8]) -> usize {
        let mut taken = 0;
        while let Some((_, rest)) = Record::split(&bytes[taken..]) {
            let length = bytes.len() - taken - rest.len();
            if self.push_encoded(&bytes[taken..taken + length]).is_err() {
                break;
            }
            taken += length;
        }
        taken
    }
}

/// How a read ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drained {
    /// The ring is empty.
    Empty,
    /// The next record needs this many bytes of room.
    Needs(usize),
}

impl RecordReader {
    /// Number of times the ring became full.
    pub fn times_full(&self) -> u64 {
        self.times_full.load(Ordering::Relaxed)
    }

    /// No record waits.
    pub fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// Length of the next record. It is never there without its record, because a writer publishes whole
    /// records.
    fn next_length(&mut self) -> Option<usize> {
        let chunk = self.ring.read_chunk(4).ok()?;
        let (first, second) = chunk.as_slices();
        let mut length = [0; 4];
        length[..first.len()].copy_from_slice(first);
        length[first.len()..].copy_from_slice(second);
        // The chunk is dropped without a commit, so that the bytes stay in the ring.
        Some(u32::from_le_bytes(length) as usize)
    }

    /// Appends whole records to `out` until the ring is empty or the next record would make `out` exceed
    /// `capacity` bytes.
    pub fn drain(&mut self, out: &mut Vec<u8>, capacity: usize) -> Drained {
        while let Some(length) = self.next_length() {
            let start = out.len();
            if start + length > capacity {
                return Drained::Needs(length);
            }
            out.resize(start + length, 0);
            self.ring.pop_entire_slice(&mut out[start..]).expect("a ring holds whole records");
        }
        Drained::Empty
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Records leave the ring whole, in order and unchanged, for all sizes of ring, reads and records.
        #[test]
        fn a_ring_keeps_records_whole(
            bodies in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..60), 1..80),
            ring_bytes in 80usize..400,
            capacity in 80usize..300,
        ) {
            let (mut writer, mut reader) = record_ring(ring_bytes);
            let mut out = Vec::new();
            let mut received = Vec::new();
            for (index, body) in bodies.iter().enumerate() {
                let record = Record { kind: 7, shard: 3, token: index as u64, body };
                while writer.push(&record).is_err() {
                    out.clear();
                    reader.drain(&mut out, capacity);
                    collect(&out, &mut received);
                }
            }
            loop {
                out.clear();
                let drained = reader.drain(&mut out, capacity);
                collect(&out, &mut received);
                if drained == Drained::Empty {
                    break;
                }
            }
            prop_assert_eq!(received, bodies);
        }

        #[test]
        fn splitting_arbitrary_bytes_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut rest = &bytes[..];
            while let Some((record, next)) = Record::split(rest) {
                prop_assert!(next.len() + record.body.len() + RECORD_HEADER_BYTES == rest.len());
                rest = next;
            }
        }
    }

    fn collect(mut bytes: &[u8], into: &mut Vec<Vec<u8>>) {
        while let Some((record, rest)) = Record::split(bytes) {
            assert_eq!(record.token, into.len() as u64);
            into.push(record.body.to_vec());
            bytes = rest;
        }
        assert!(bytes.is_empty());
    }

    #[test]
    fn a_record_larger_than_the_read_reports_the_bytes_it_needs() {
        let (mut writer, mut reader) = record_ring(256);
        writer.push(&Record { kind: 1, shard: 0, token: 0, body: &[9; 100] }).expect("room");
        let mut out = Vec::new();
        assert_eq!(reader.drain(&mut out, 64), Drained::Needs(116));
        assert!(out.is_empty());
        assert_eq!(reader.drain(&mut out, 116), Drained::Empty);
        assert_eq!(out.len(), 116);
    }

    #[test]
    fn a_ring_counts_how_often_it_became_full() {
        let (mut writer, mut reader) = record_ring(100);
        let record = Record { kind: 1, shard: 0, token: 0, body: &[0; 34] };
        let mut bytes = Vec::new();
        record.write(&mut bytes);
        for times in 1..=3 {
            assert_eq!((writer.push(&record), writer.push(&record)), (Ok(()), Ok(())));
            assert_eq!(reader.times_full(), times - 1);
            assert_eq!(writer.push(&record), Err(RingFull));
            assert_eq!(writer.push_all(&bytes), 0, "tried again");
            assert_eq!((writer.times_full(), reader.times_full()), (times, times));
            reader.drain(&mut Vec::new(), 100);
        }
        assert_eq!(writer.push_all(&bytes.repeat(3)), 100);
        assert_eq!(reader.times_full(), 4);
    }

    #[test]
    fn taking_many_records_stops_at_the_first_that_does_not_fit() {
        let (mut writer, _reader) = record_ring(100);
        let mut bytes = Vec::new();
        for token in 0..4 {
            Record { kind: 1, shard: 0, token, body: &[0; 14] }.write(&mut bytes);
        }
        assert_eq!(writer.push_all(&bytes), 90);
    }
}
