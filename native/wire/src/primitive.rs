//! Scalars and length-prefixed strings, little-endian, read within bounds and appended to a `Vec`.

use thiserror::Error;

/// Bytes that do not have the layout their command prescribes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Malformed {
    /// The body ends inside a field.
    #[error("the body ends {missing} bytes before the field does")]
    Short {
        /// How many more bytes the field needs.
        missing: usize,
    },
    /// Bytes are left after the last field.
    #[error("{extra} bytes follow the last field")]
    Trailing {
        /// How many bytes are left.
        extra: usize,
    },
    /// A name has no bytes.
    #[error("a name is empty")]
    EmptyName,
    /// Text is not UTF-8.
    #[error("text is not UTF-8")]
    NotUtf8,
    /// A discriminant has no meaning.
    #[error("{0} is not a value of this field")]
    Value(u32),
    /// A number that may occur once occurs again.
    #[error("{0} occurs twice")]
    Repeated(u32),
    /// A block is longer than any may be.
    #[error("the block is longer than {most} bytes")]
    Long {
        /// The most bytes of such a block.
        most: usize,
    },
}

/// Reads fields from the front of a borrowed body; every length is held against what is left before it is
/// used.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// A reader at the first byte of `body`.
    #[must_use]
    pub const fn new(body: &'a [u8]) -> Self {
        Self { rest: body }
    }

    /// How many bytes are left.
    #[must_use]
    pub const fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// The next `count` bytes.
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let Some((taken, rest)) = self.rest.split_at_checked(count) else {
            return Err(Malformed::Short { missing: count - self.rest.len() });
        };
        self.rest = rest;
        Ok(taken)
    }

    /// One byte.
    pub fn u8(&mut self) -> Result<u8, Malformed> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    /// Two bytes.
    pub fn u16(&mut self) -> Result<u16, Malformed> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    /// Four bytes.
    pub fn u32(&mut self) -> Result<u32, Malformed> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// Eight bytes.
    pub fn u64(&mut self) -> Result<u64, Malformed> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// Sixteen bytes.
    pub fn u128(&mut self) -> Result<u128, Malformed> {
        Ok(u128::from_le_bytes(self.array()?))
    }

    /// A byte of length, then 1 to 255 bytes of UTF-8.
    pub fn name8(&mut self) -> Result<&'a str, Malformed> {
        let text = self.bytes8()?;
        if text.is_empty() {
            return Err(Malformed::EmptyName);
        }
        utf8(text)
    }

    /// A byte of length, then 0 to 255 bytes of UTF-8.
    pub fn str8(&mut self) -> Result<&'a str, Malformed> {
        utf8(self.bytes8()?)
    }

    /// A byte of length, then 0 to 255 bytes of anything.
    pub fn bytes8(&mut self) -> Result<&'a [u8], Malformed> {
        let count = self.u8()?;
        self.bytes(usize::from(count))
    }

    /// Four bytes of length, then that many bytes of UTF-8.
    pub fn str32(&mut self) -> Result<&'a str, Malformed> {
        let count = self.u32()?;
        utf8(self.bytes(count as usize)?)
    }

    /// Agrees that every byte was read.
    pub const fn finish(self) -> Result<(), Malformed> {
        match self.rest.len() {
            0 => Ok(()),
            extra => Err(Malformed::Trailing { extra }),
        }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let Some((taken, rest)) = self.rest.split_first_chunk::<N>() else {
            return Err(Malformed::Short { missing: N - self.rest.len() });
        };
        self.rest = rest;
        Ok(*taken)
    }
}

/// Text of 1 to 255 bytes: what a `name8` field can carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name<'a> {
    text: &'a str,
    length: u8,
}

impl<'a> Name<'a> {
    /// `text` as a name, unless it is empty or longer than 255 bytes.
    #[must_use]
    pub fn new(text: &'a str) -> Option<Self> {
        match u8::try_from(text.len()) {
            Ok(length @ 1..) => Some(Self { text, length }),
            _ => None,
        }
    }

    /// The text.
    #[must_use]
    pub const fn as_str(self) -> &'a str {
        self.text
    }
}

/// Appends one byte.
pub fn put_u8(into: &mut Vec<u8>, value: u8) {
    into.push(value);
}

/// Appends two bytes.
pub fn put_u16(into: &mut Vec<u8>, value: u16) {
    into.extend_from_slice(&value.to_le_bytes());
}

/// Appends four bytes.
pub fn put_u32(into: &mut Vec<u8>, value: u32) {
    into.extend_from_slice(&value.to_le_bytes());
}

/// Appends eight bytes.
pub fn put_u64(into: &mut Vec<u8>, value: u64) {
    into.extend_from_slice(&value.to_le_bytes());
}

/// Appends sixteen bytes.
pub fn put_u128(into: &mut Vec<u8>, value: u128) {
    into.extend_from_slice(&value.to_le_bytes());
}

/// Appends a 32-bit float.
pub fn put_f32(into: &mut Vec<u8>, value: f32) {
    into.extend_from_slice(&value.to_le_bytes());
}

/// Appends a byte of length and the text.
pub fn put_name8(into: &mut Vec<u8>, name: Name<'_>) {
    put_u8(into, name.length);
    into.extend_from_slice(name.text.as_bytes());
}

/// Appends four bytes of length and the bytes.
pub fn put_bytes32(into: &mut Vec<u8>, bytes: &[u8]) {
    put_count(into, bytes.len());
    into.extend_from_slice(bytes);
}

/// Appends four bytes of length and the text.
pub fn put_str32(into: &mut Vec<u8>, text: &str) {
    put_bytes32(into, text.as_bytes());
}

/// Appends how many elements follow.
///
/// Each element takes at least a byte, so a count that does not fit 32 bits belongs to a body beyond the
/// longest frame, and [`crate::reply::ok`] withholds that body: the clamped figure is never sent.
pub fn put_count(into: &mut Vec<u8>, count: usize) {
    put_u32(into, u32::try_from(count).unwrap_or(u32::MAX));
}

fn utf8(bytes: &[u8]) -> Result<&str, Malformed> {
    str::from_utf8(bytes).map_err(|_| Malformed::NotUtf8)
}
