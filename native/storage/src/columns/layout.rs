//! Where each buffer of each column begins in an arena.

/// The alignment that Arrow asks for.
const ALIGNMENT: usize = 64;

/// The least bytes that a user header takes: kind, length and one byte of data, twice.
const HEADER_BYTES_MIN: usize = 12;

/// How many buffers an arena has; those of columns that are not wanted are empty.
pub const BUFFERS: usize = 20;

/// Which columns are wanted, a bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Columns(pub u32);

impl Columns {
    /// The key, by the rule of the selection; null without one.
    pub const KEY: Self = Self(1);
    /// The payload.
    pub const VALUE: Self = Self(1 << 1);
    /// The offset.
    pub const OFFSET: Self = Self(1 << 2);
    /// When it was appended.
    pub const TIMESTAMP: Self = Self(1 << 3);
    /// When its producer made it.
    pub const ORIGIN: Self = Self(1 << 4);
    /// Its id, 16 bytes, most significant first.
    pub const ID: Self = Self(1 << 5);
    /// The user headers as a list; null where the bytes are none.
    pub const HEADERS: Self = Self(1 << 6);
    /// Whether it deletes its key: header `tombstone` is true, or the payload is empty.
    pub const TOMBSTONE: Self = Self(1 << 7);
    /// The user headers as they came.
    pub const USER_HEADERS: Self = Self(1 << 8);
    /// All of them.
    pub const ALL: Self = Self((1 << 9) - 1);

    /// Whether `other` is among them.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// A part of an arena.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Where it begins.
    pub start: usize,
    /// How many bytes.
    pub length: usize,
}

/// The places of all buffers, in the order of [`super::arena::Arena`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// One after the other.
    pub places: [Place; BUFFERS],
    /// Bytes of the arena.
    pub size: usize,
}

impl Layout {
    /// For at most so many rows from a piece of so many bytes: no column can then run out of room.
    #[must_use]
    pub fn new(columns: Columns, rows: usize, piece: usize) -> Self {
        let ends = (rows + 1) * 4;
        let bits = rows.div_ceil(8);
        let headers = piece / HEADER_BYTES_MIN;
        let header_ends = (headers + 1) * 4;
        let wanted: [(Columns, usize); BUFFERS] = [
            (Columns::OFFSET, rows * 8),
            (Columns::TIMESTAMP, rows * 8),
            (Columns::ORIGIN, rows * 8),
            (Columns::ID, ends),
            (Columns::ID, rows * 16),
            (Columns::VALUE, ends),
            (Columns::VALUE, piece),
            (Columns::KEY, bits),
            (Columns::KEY, ends),
            (Columns::KEY, piece),
            (Columns::TOMBSTONE, bits),
            (Columns::USER_HEADERS, ends),
            (Columns::USER_HEADERS, piece),
            (Columns::HEADERS, bits),
            (Columns::HEADERS, ends),
            (Columns::HEADERS, header_ends),
            (Columns::HEADERS, piece),
            (Columns::HEADERS, headers),
            (Columns::HEADERS, header_ends),
            (Columns::HEADERS, piece),
        ];
        let mut size = 0;
        let places = wanted.map(|(column, bytes)| {
            let length = if columns.has(column) { bytes } else { 0 };
            let place = Place { start: size, length };
            size += length.next_multiple_of(ALIGNMENT);
            place
        });
        Self { places, size }
    }
}
