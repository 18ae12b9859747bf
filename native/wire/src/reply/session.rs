//! The payload that answers a registration.

use crate::primitive::{Name, put_name8, put_u32, put_u64};
use crate::version;

/// A session that was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registered<'a> {
    /// The user the session belongs to.
    pub user_id: u32,
    /// The number of the session: above zero, and below 2^63 because some clients read it with a sign.
    pub session: u64,
    /// The version of the server, for the client's log.
    pub server_version: Name<'a>,
}

impl Registered<'_> {
    /// Appends the payload.
    pub fn put(&self, into: &mut Vec<u8>) {
        put_u32(into, self.user_id);
        put_u64(into, self.session);
        put_u32(into, version::MAX.packed());
        put_name8(into, self.server_version);
    }
}
