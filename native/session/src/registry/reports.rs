//! What Python is told of sessions: it keeps the audit file.

use std::net::SocketAddr;

use ng_control::record::Record;
use ng_control::shard_id::ShardId;
use ng_wire::primitive::{put_str32, put_u8, put_u32, put_u64, put_u128};
use ng_wire::table::eviction::EvictionReason;
use ng_wire::table::record::{SessionChange, ToPython};

use super::{BoundSession, Registry};

/// What became of a session.
#[derive(Clone, Copy, Debug)]
pub(super) enum SessionNews {
    /// A login made it.
    Opened,
    /// Its client ended it.
    Ended,
    /// The server ended it.
    Evicted(EvictionReason),
}

impl SessionNews {
    const fn codes(self) -> (SessionChange, u8) {
        match self {
            Self::Opened => (SessionChange::Opened, 0),
            Self::Ended => (SessionChange::Ended, 0),
            Self::Evicted(reason) => (SessionChange::Evicted, reason.code()),
        }
    }
}

impl Registry {
    /// From now on Python is told of each session that opens or ends.
    pub fn report_sessions(&mut self) {
        self.reports = Some(0);
    }

    /// Tells Python of a session. A ring without room loses the record, and the next token says so.
    pub(super) fn report(&mut self, news: SessionNews, session: &BoundSession, address: SocketAddr) {
        let Some(token) = self.reports else { return };
        self.reports = Some(token + 1);
        let (change, reason) = news.codes();
        let mut body = Vec::new();
        put_u8(&mut body, change.code());
        put_u8(&mut body, reason);
        put_u64(&mut body, session.bound.session);
        put_u128(&mut body, session.client);
        put_u32(&mut body, session.bound.user_id);
        put_str32(&mut body, &address.to_string());
        let record = Record { kind: ToPython::Session.code(), shard: ShardId::FIRST.0, token, body: &body };
        let _ = self.push(&record);
    }
}
