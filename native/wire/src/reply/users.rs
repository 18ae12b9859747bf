//! The record of a user.

use crate::primitive::{Name, put_bytes32, put_name8, put_u8, put_u32, put_u64};
use crate::table::row::UserStatus;

/// A user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User<'a> {
    /// Its number.
    pub id: u32,
    /// When it was made, in microseconds since the epoch.
    pub created_at: u64,
    /// Whether it may log in.
    pub status: UserStatus,
    /// Its name.
    pub name: Name<'a>,
    /// The options it was given, as a block.
    pub options: &'a [u8],
}

impl User<'_> {
    /// Appends the record.
    pub fn put(&self, into: &mut Vec<u8>) {
        put_u32(into, self.id);
        put_u64(into, self.created_at);
        put_u8(into, self.status.code());
        put_name8(into, self.name);
        put_bytes32(into, self.options);
    }

    /// Appends the record and the permissions, which are empty without any.
    pub fn put_details(&self, permissions: &[u8], into: &mut Vec<u8>) {
        self.put(into);
        if permissions.is_empty() {
            put_u32(into, 0);
        } else {
            put_u8(into, 1);
            put_bytes32(into, permissions);
        }
    }
}
