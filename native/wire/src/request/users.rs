//! The bodies of commands that name a user.

use super::identifier::Identifier;
use crate::primitive::{Malformed, Reader};

/// The body of get and delete user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserTarget<'a> {
    /// The user.
    pub user: Identifier<'a>,
}

impl<'a> UserTarget<'a> {
    /// Reads a body.
    pub fn decode(body: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let target = Self { user: Identifier::read(&mut reader)? };
        reader.finish()?;
        Ok(target)
    }
}
