//! A block of options: keys and values to the end of a body, each with its kind and its length.

use std::collections::HashSet;

use crate::primitive::{Malformed, Reader};
use crate::table::error::ErrorCode;
use crate::table::topic_option::ValueKind;

/// The most options a block holds.
pub const OPTIONS_MAX: usize = 1024;

/// The most bytes a block takes.
pub const OPTIONS_BYTES_MAX: usize = 100_000;

/// The options of a request, still in their bytes and not looked at yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionBlock<'a> {
    bytes: &'a [u8],
}

/// One option as a client sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionEntry<'a> {
    /// The key.
    pub key: &'a str,
    /// The kind byte of the value.
    pub kind: u8,
    /// The value, 1 to 255 bytes.
    pub value: &'a [u8],
}

impl<'a> OptionBlock<'a> {
    /// All that a reader has left.
    pub(super) fn rest(mut reader: Reader<'a>) -> Self {
        let bytes = reader.bytes(reader.remaining()).unwrap_or_default();
        Self { bytes }
    }

    /// The bytes as they came.
    #[must_use]
    pub const fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// The options in the order they were sent in; no key occurs twice.
    pub fn entries(self) -> Result<Vec<OptionEntry<'a>>, ErrorCode> {
        if self.bytes.len() > OPTIONS_BYTES_MAX {
            return Err(ErrorCode::OptionsBlockTooLarge);
        }
        let mut reader = Reader::new(self.bytes);
        let mut entries = Vec::new();
        let mut keys = HashSet::new();
        while reader.remaining() > 0 {
            if entries.len() == OPTIONS_MAX {
                return Err(ErrorCode::OptionsBlockTooLarge);
            }
            let entry = OptionEntry::read(&mut reader)?;
            if !keys.insert(entry.key) {
                return Err(ErrorCode::InvalidCommand);
            }
            entries.push(entry);
        }
        Ok(entries)
    }

    /// For what has no options.
    pub fn check_none(self) -> Result<(), ErrorCode> {
        if self.entries()?.is_empty() { Ok(()) } else { Err(ErrorCode::UnsupportedOptionKey) }
    }
}

impl<'a> OptionEntry<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let (kind, key) = field(reader)?;
        if kind != ValueKind::Text.code() {
            return Err(Malformed::Value(kind.into()));
        }
        let key = str::from_utf8(key).map_err(|_| Malformed::NotUtf8)?;
        let (kind, value) = field(reader)?;
        Ok(Self { key, kind, value })
    }
}

fn field<'a>(reader: &mut Reader<'a>) -> Result<(u8, &'a [u8]), Malformed> {
    let kind = reader.u8()?;
    if kind == 0 {
        return Err(Malformed::Value(0));
    }
    match reader.u32()? {
        length @ 1..=255 => Ok((kind, reader.bytes(length as usize)?)),
        length => Err(Malformed::Value(length)),
    }
}
