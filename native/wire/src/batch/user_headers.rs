use crate::primitive::{Malformed, Reader};

/// The longest name or value of a user header.
const USER_HEADER_BYTES_MAX: u32 = 255;

/// The kind of a header field that is text.
pub const KIND_STRING: u8 = 2;

/// The kind of a header field that is true or false.
pub const KIND_BOOL: u8 = 3;

/// A name or a value of a user header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderField<'a> {
    /// What the bytes mean; kinds that nobody knows yet are kept as they came.
    pub kind: u8,
    /// 1 to 255 of them.
    pub bytes: &'a [u8],
}

/// A user header of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserHeader<'a> {
    /// What it is called.
    pub key: HeaderField<'a>,
    /// What it says.
    pub value: HeaderField<'a>,
}

/// The user headers of a message, one after the other.
///
/// Brokers store these bytes as they came, so they need not be headers at all: the iterator ends with the first refusal.
#[derive(Clone, Debug)]
pub struct UserHeaders<'a> {
    reader: Reader<'a>,
    failed: bool,
}

impl<'a> UserHeaders<'a> {
    /// The headers that fill `bytes`.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { reader: Reader::new(bytes), failed: false }
    }

    fn header(&mut self) -> Result<UserHeader<'a>, Malformed> {
        Ok(UserHeader { key: self.field()?, value: self.field()? })
    }

    fn field(&mut self) -> Result<HeaderField<'a>, Malformed> {
        let kind = self.reader.u8()?;
        if kind == 0 {
            return Err(Malformed::Value(0));
        }
        let length = self.reader.u32()?;
        if !(1..=USER_HEADER_BYTES_MAX).contains(&length) {
            return Err(Malformed::Value(length));
        }
        Ok(HeaderField { kind, bytes: self.reader.bytes(length as usize)? })
    }
}

impl<'a> Iterator for UserHeaders<'a> {
    type Item = Result<UserHeader<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed || self.reader.remaining() == 0 {
            return None;
        }
        let header = self.header();
        self.failed = header.is_err();
        Some(header)
    }
}
