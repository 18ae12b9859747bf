//! The record of a connected client.

use crate::primitive::{put_count, put_str32, put_u8, put_u32};
use crate::table::transport::Transport;

/// What stands in for the user of a client that has not logged in.
const NO_USER: u32 = u32::MAX;

/// A connected client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client<'a> {
    /// The number the server gave the connection.
    pub client_id: u32,
    /// The user who logged in on it.
    pub user_id: Option<u32>,
    /// How the client reached the server.
    pub transport: Transport,
    /// The address the client comes from.
    pub address: &'a str,
    /// The consumer groups it is a member of.
    pub memberships: &'a [Membership],
}

/// A consumer group a client is a member of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Membership {
    /// The stream of the group's topic.
    pub stream_id: u32,
    /// The group's topic.
    pub topic_id: u32,
    /// The group.
    pub group_id: u32,
}

impl Client<'_> {
    /// Appends the record as it stands in a list, groups counted only.
    pub fn put(&self, into: &mut Vec<u8>) {
        put_u32(into, self.client_id);
        put_u32(into, self.user_id.unwrap_or(NO_USER));
        put_u8(into, self.transport.code());
        put_str32(into, self.address);
        put_count(into, self.memberships.len());
    }

    /// Appends the record as it stands alone, groups named.
    pub fn put_details(&self, into: &mut Vec<u8>) {
        self.put(into);
        for membership in self.memberships {
            put_u32(into, membership.stream_id);
            put_u32(into, membership.topic_id);
            put_u32(into, membership.group_id);
        }
    }
}
