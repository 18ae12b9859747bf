//! The bodies of commands that name a stream, and of those that make and change one.

use super::identifier::Identifier;
use super::option_block::OptionBlock;
use crate::primitive::{Malformed, Reader};
use crate::table::error::ErrorCode;

/// The body of get, delete and purge stream, and of get topics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamTarget<'a> {
    /// The stream.
    pub stream: Identifier<'a>,
}

/// The body of create stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreateStream<'a> {
    /// The name, of 1 to 255 bytes.
    pub name: &'a str,
    /// The options, of which a stream has none.
    pub options: OptionBlock<'a>,
}

/// The body of update stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpdateStream<'a> {
    /// The stream.
    pub stream: Identifier<'a>,
    /// Its name from now on, of 1 to 255 bytes.
    pub name: &'a str,
    /// The options, of which a stream has none.
    pub options: OptionBlock<'a>,
}

impl<'a> StreamTarget<'a> {
    /// Reads a body.
    pub fn decode(body: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let target = Self { stream: Identifier::read(&mut reader)? };
        reader.finish()?;
        Ok(target)
    }
}

impl<'a> CreateStream<'a> {
    /// Reads a body; of the options only the extent.
    pub fn decode(body: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        Ok(Self { name: reader.name8()?, options: OptionBlock::rest(reader) })
    }

    /// What can be judged without knowing the streams.
    pub fn check(&self) -> Result<(), ErrorCode> {
        self.options.check_none()
    }
}

impl<'a> UpdateStream<'a> {
    /// Reads a body; of the options only the extent.
    pub fn decode(body: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let (stream, name) = (Identifier::read(&mut reader)?, reader.name8()?);
        Ok(Self { stream, name, options: OptionBlock::rest(reader) })
    }

    /// What can be judged without knowing the streams.
    pub fn check(&self) -> Result<(), ErrorCode> {
        self.options.check_none()
    }
}
