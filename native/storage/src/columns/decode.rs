//! From the batches of a piece to rows.

use ng_wire::batch::{BATCH_HEADER_BYTES, BatchHeader, MessageFrame, Messages, Verified};

use super::arena::Arena;
use super::headers::{self, is_tombstone};
use super::layout::{Columns, Layout};
use super::walk::{Stop, Walk, refused};
use crate::compaction::{KeyRule, Scratch};
use crate::refusal::{Reason, Refusal};

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
        let rest = &piece[decoded.consumed..];
        let batch = match walk.batch(rest, decoded.consumed) {
            Ok(batch) => batch,
            Err(stop) => break stop,
        };
        if batch.header.base_offset >= selection.end_offset {
            break Stop::End;
        }
        if let Err(stop) = decoded.take(rest, &batch, selection, &mut arena) {
            break stop;
        }
        walk.after = decoded.after;
    };
    Some(decoded)
}

impl Decoded {
    fn take(
        &mut self,
        bytes: &[u8],
        batch: &Verified,
        selection: &Selection<'_>,
        arena: &mut Arena<'_>,
    ) -> Result<(), Stop> {
        if i64::try_from(batch.last_offset).is_err() {
            return Err(refused("base offset", Reason::Value(batch.header.base_offset)));
        }
        let length = usize::try_from(batch.header.length).unwrap_or(usize::MAX);
        let timestamp = batch.header.base_timestamp;
        if (selection.min_timestamp..=selection.max_timestamp).contains(&timestamp) {
            let messages = Messages::new(&bytes[BATCH_HEADER_BYTES..length], batch.header.count);
            for message in messages {
                let message = message.map_err(|refusal| Stop::Damaged(Refusal::from(refusal)))?;
                let offset = batch.header.base_offset + u64::from(message.offset_delta);
                if offset < self.first_offset {
                    continue;
                }
                if offset >= selection.end_offset {
                    return Err(Stop::End);
                }
                if self.rows == selection.rows_max {
                    self.first_offset = offset;
                    return Err(Stop::Full);
                }
                arena.row(&batch.header, offset, &message, &selection.key);
                self.rows += 1;
            }
        }
        self.consumed += length;
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
