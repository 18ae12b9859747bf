//! From the batches of a piece to rows.

use ng_wire::batch::{BatchHeader, MessageFrame, Verified};

use super::arena::Arena;
use super::headers::{self, is_tombstone};
use super::layout::{Columns, Layout};
use super::walk::{Stop, Walk, refused};
use crate::compaction::{KeyRule, Scratch};
use crate::refusal::Reason;

/// Which messages become rows, and what of them.
#[derive(Clone, Copy, Debug)]
pub struct Selection<'a> {
    /// The columns.
    pub columns: Columns,
    /// At most so many rows.
    pub rows_max: usize,
    /// None with an offset below this one.
    pub first_offset: u64,
    /// None with this offset or one beyond.
    pub end_offset: u64,
    /// None that was appended earlier.
    pub min_timestamp: u64,
    /// None that was appended later.
    pub max_timestamp: u64,
    /// Where the key is.
    pub key: KeyRule<'a>,
}

/// What became of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// How many rows were written.
    pub rows: usize,
    /// Where the next call goes on: the position of the batch that it begins with.
    pub consumed: usize,
    /// The `after` of the next call.
    pub after: u64,
    /// The `first_offset` of the next call.
    pub first_offset: u64,
    /// Why it came to its end.
    pub stop: Stop,
}

/// Writes rows from the batches of `piece` into `arena`, which is as long as the layout for these columns and rows and
/// this piece says; `None` if it is shorter.
pub fn decode(piece: &[u8], walk: &Walk, selection: &Selection<'_>, arena: &mut [u8]) -> Option<Decoded> {
    let layout = Layout::new(selection.columns, selection.rows_max, piece.len());
    let mut arena = Arena::new(selection.columns, &layout, arena.get_mut(..layout.size)?);
    let mut walk = *walk;
    let mut decoded = Decoded {
        rows: 0,
        consumed: 0,
        after: walk.after,
        first_offset: selection.first_offset,
        stop: Stop::End,
    };
    decoded.stop = loop {
        let mut rows = Rows { next: decoded.rows, halt: None, first_offset: decoded.first_offset };
        let batch = walk.each(&piece[decoded.consumed..], decoded.consumed, |header, offset, message| {
            if selection.wants(header) && rows.takes(offset, selection) {
                arena.row(header, offset, message, &selection.key);
            }
        });
        let halted = match batch {
            Ok(batch) => decoded.take(&batch, &rows, selection),
            Err(stop) => Err(stop),
        };
        if let Err(stop) = halted {
            break stop;
        }
        walk.after = decoded.after;
    };
    Some(decoded)
}

/// The rows of a batch as they are written, before anybody vouches for it.
struct Rows {
    next: usize,
    first_offset: u64,
    /// Why those behind are none.
    halt: Option<Stop>,
}

impl Rows {
    /// Whether the next message becomes a row.
    fn takes(&mut self, offset: u64, selection: &Selection<'_>) -> bool {
        if self.halt.is_some() || offset < self.first_offset {
            return false;
        }
        if offset >= selection.end_offset {
            self.halt = Some(Stop::End);
        } else if self.next == selection.rows_max {
            (self.halt, self.first_offset) = (Some(Stop::Full), offset);
        } else {
            self.next += 1;
        }
        self.halt.is_none()
    }
}

impl Selection<'_> {
    fn wants(&self, batch: &BatchHeader) -> bool {
        (self.min_timestamp..=self.max_timestamp).contains(&batch.base_timestamp)
    }
}

impl Decoded {
    /// Counts the rows of a batch that was found to be right.
    fn take(&mut self, batch: &Verified, rows: &Rows, selection: &Selection<'_>) -> Result<(), Stop> {
        if batch.header.base_offset >= selection.end_offset {
            return Err(Stop::End);
        }
        if i64::try_from(batch.last_offset).is_err() {
            return Err(refused("base offset", Reason::Value(batch.header.base_offset)));
        }
        (self.rows, self.first_offset) = (rows.next, rows.first_offset);
        if let Some(halt) = rows.halt {
            return Err(halt);
        }
        self.consumed += usize::try_from(batch.header.length).unwrap_or(usize::MAX);
        self.after = batch.last_offset + 1;
        self.first_offset = self.first_offset.max(self.after);
        Ok(())
    }
}

impl Arena<'_> {
    fn row(&mut self, batch: &BatchHeader, offset: u64, message: &MessageFrame<'_>, key: &KeyRule<'_>) {
        let origin = batch.origin_timestamp.saturating_add(u64::from(message.timestamp_delta));
        let numbers = [
            (&mut self.offset, offset),
            (&mut self.timestamp, batch.base_timestamp),
            (&mut self.origin, origin),
        ];
        for (column, number) in numbers {
            if let Some(column) = column {
                // A producer may claim any time: what is beyond the last that there is becomes that one.
                column.put(&i64::try_from(number).unwrap_or(i64::MAX).to_le_bytes());
            }
        }
        if let Some(id) = &mut self.id {
            id.put(&message.id.to_be_bytes());
        }
        if let Some(value) = &mut self.value {
            value.put(message.payload);
        }
        if let Some((valid, keys)) = &mut self.key {
            let mut scratch = Scratch::default();
            let key = key.key(message, &mut scratch);
            valid.put(key.is_some());
            keys.put(key.unwrap_or(&[]));
        }
        if let Some(tombstone) = &mut self.tombstone {
            tombstone.put(is_tombstone(message));
        }
        if let Some(user_headers) = &mut self.user_headers {
            user_headers.put(message.user_headers);
        }
        if let Some(lists) = &mut self.headers {
            headers::append(lists, message.user_headers);
        }
    }
}
