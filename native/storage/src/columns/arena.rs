//! The buffers of an arena, each filled from its front.

use super::layout::{Columns, Layout, Place};

/// Numbers or bytes, back to back.
pub(super) struct Bytes<'a> {
    room: &'a mut [u8],
    used: usize,
}

impl Bytes<'_> {
    /// The layout leaves room for all that a piece can hold, so there is room.
    pub(super) fn put(&mut self, bytes: &[u8]) {
        let end = self.used + bytes.len();
        self.room[self.used..end].copy_from_slice(bytes);
        self.used = end;
    }

    pub(super) const fn used(&self) -> usize {
        self.used
    }

    /// Forgets what lies behind the first `used` bytes.
    pub(super) const fn back_to(&mut self, used: usize) {
        self.used = used;
    }
}

/// One bit per row, the first in the lowest place.
pub(super) struct Bits<'a> {
    room: &'a mut [u8],
    used: usize,
}

impl Bits<'_> {
    pub(super) fn put(&mut self, bit: bool) {
        let (byte, place) = (self.used / 8, self.used % 8);
        let before = if place == 0 { 0 } else { self.room[byte] };
        self.room[byte] = before | (u8::from(bit) << place);
        self.used += 1;
    }
}

/// Values of any length: all of their bytes, and where each begins and ends.
pub(super) struct Texts<'a> {
    ends: Bytes<'a>,
    data: Bytes<'a>,
}

/// How far a list of texts had come.
#[derive(Clone, Copy)]
pub(super) struct Mark(usize, usize);

impl<'a> Texts<'a> {
    fn new(mut ends: Bytes<'a>, data: Bytes<'a>) -> Self {
        ends.put(&[0; 4]);
        Self { ends, data }
    }

    pub(super) fn put(&mut self, bytes: &[u8]) {
        self.data.put(bytes);
        self.ends.put(&end(self.data.used()));
    }

    pub(super) const fn mark(&self) -> Mark {
        Mark(self.ends.used, self.data.used)
    }

    pub(super) const fn back_to(&mut self, mark: Mark) {
        self.ends.back_to(mark.0);
        self.data.back_to(mark.1);
    }
}

/// An end within a buffer: pieces are far shorter than 2 GiB.
fn end(at: usize) -> [u8; 4] {
    u32::try_from(at).unwrap_or(u32::MAX).to_le_bytes()
}

/// A list of headers per row.
pub(super) struct Lists<'a> {
    pub(super) valid: Bits<'a>,
    ends: Bytes<'a>,
    pub(super) keys: Texts<'a>,
    pub(super) kinds: Bytes<'a>,
    pub(super) values: Texts<'a>,
}

impl Lists<'_> {
    /// Ends the list of a row behind the headers that were put so far.
    pub(super) fn close(&mut self, valid: bool) {
        self.valid.put(valid);
        self.ends.put(&end(self.kinds.used()));
    }
}

/// Every column that is wanted.
pub(super) struct Arena<'a> {
    pub(super) offset: Option<Bytes<'a>>,
    pub(super) timestamp: Option<Bytes<'a>>,
    pub(super) origin: Option<Bytes<'a>>,
    pub(super) id: Option<Texts<'a>>,
    pub(super) value: Option<Texts<'a>>,
    pub(super) key: Option<(Bits<'a>, Texts<'a>)>,
    pub(super) tombstone: Option<Bits<'a>>,
    pub(super) user_headers: Option<Texts<'a>>,
    pub(super) headers: Option<Lists<'a>>,
}

impl<'a> Arena<'a> {
    /// The buffers of `bytes`, which are as many as the layout says.
    pub(super) fn new(columns: Columns, layout: &Layout, bytes: &'a mut [u8]) -> Self {
        let mut rest = Rest { bytes, at: 0 };
        let mut places = layout.places.iter();
        let mut bytes = || Bytes { room: places.next().map_or(&mut [], |place| rest.take(*place)), used: 0 };
        let (offset, timestamp, origin) = (bytes(), bytes(), bytes());
        let id = (bytes(), bytes());
        let value = (bytes(), bytes());
        let key = (bits(bytes()), bytes(), bytes());
        let tombstone = bits(bytes());
        let user_headers = (bytes(), bytes());
        let headers = [bytes(), bytes(), bytes(), bytes(), bytes(), bytes(), bytes()];
        let texts = |column: Columns, (ends, data): (Bytes<'a>, Bytes<'a>)| {
            columns.has(column).then(|| Texts::new(ends, data))
        };
        Self {
            offset: columns.has(Columns::OFFSET).then_some(offset),
            timestamp: columns.has(Columns::TIMESTAMP).then_some(timestamp),
            origin: columns.has(Columns::ORIGIN).then_some(origin),
            id: texts(Columns::ID, id),
            value: texts(Columns::VALUE, value),
            key: columns.has(Columns::KEY).then(|| (key.0, Texts::new(key.1, key.2))),
            tombstone: columns.has(Columns::TOMBSTONE).then_some(tombstone),
            user_headers: texts(Columns::USER_HEADERS, user_headers),
            headers: columns.has(Columns::HEADERS).then(|| lists(headers)),
        }
    }
}

fn bits(Bytes { room, used }: Bytes<'_>) -> Bits<'_> {
    Bits { room, used }
}

fn lists<'a>(buffers: [Bytes<'a>; 7]) -> Lists<'a> {
    let [valid, mut ends, key_ends, keys, kinds, value_ends, values] = buffers;
    ends.put(&[0; 4]);
    Lists {
        valid: bits(valid),
        ends,
        keys: Texts::new(key_ends, keys),
        kinds,
        values: Texts::new(value_ends, values),
    }
}

/// What no buffer was taken from yet.
struct Rest<'a> {
    bytes: &'a mut [u8],
    at: usize,
}

impl<'a> Rest<'a> {
    fn take(&mut self, place: Place) -> &'a mut [u8] {
        let rest = std::mem::take(&mut self.bytes);
        let (_, rest) = rest.split_at_mut(place.start - self.at);
        let (taken, rest) = rest.split_at_mut(place.length);
        self.at = place.start + place.length;
        self.bytes = rest;
        taken
    }
}
