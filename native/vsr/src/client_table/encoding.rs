//! The client table as bytes, the same for equal tables; `REPLICA.md` has the byte table.

use std::collections::VecDeque;
use std::error::Error;
use std::fmt;

use ng_wire::primitive::{Malformed, Reader, put_u32, put_u64, put_u128};
use ng_wire::replica::Op;

use super::{CachedReply, ClientTable, Entry};
use crate::setup::ClientLimits;

/// What stands for the length of a reply that was too long to be kept.
const NOT_KEPT: u32 = u32::MAX;

/// Bytes that are no client table of these limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableRefusal {
    /// Too few bytes for what they claim, or too many.
    Malformed(Malformed),
    /// The table was filled under other limits.
    Limits,
    /// No execution of operations leaves this client with such an entry, or in this place.
    Client(u128),
}

impl fmt::Display for TableRefusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(malformed) => malformed.fmt(out),
            Self::Limits => write!(out, "a client table of other limits"),
            Self::Client(client) => write!(out, "the entry of client {client:032x} contradicts itself"),
        }
    }
}

impl Error for TableRefusal {}

impl From<Malformed> for TableRefusal {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

impl ClientTable {
    /// Appends the table. Its first eight bytes say how many bytes it has.
    pub fn encode(&self, into: &mut Vec<u8>) {
        let start = into.len();
        put_u64(into, 0);
        limits(self.limits).into_iter().for_each(|limit| put_u32(into, limit));
        put_u32(into, clamped(self.len()));
        for entry in self.by_commit() {
            put_entry(into, entry);
        }
        let bytes = (into.len() - start) as u64;
        into[start..start + 8].copy_from_slice(&bytes.to_le_bytes());
    }

    /// Reads a whole table that was filled under these limits. What is taken gives the same bytes again.
    pub fn decode(bytes: &[u8], expected: ClientLimits) -> Result<Self, TableRefusal> {
        let mut reader = Reader::new(bytes);
        let claimed = reader.u64()?;
        if claimed != bytes.len() as u64 {
            return Err(Malformed::Value(u32::try_from(claimed).unwrap_or(u32::MAX)).into());
        }
        let found = [reader.u32()?, reader.u32()?, reader.u32()?];
        let count = reader.u32()?;
        if found != limits(expected) || count > expected.clients {
            return Err(TableRefusal::Limits);
        }
        let mut table = Self::new(expected);
        let mut last = Op::ZERO;
        for _ in 0..count {
            let entry = read_entry(&mut reader, expected)?;
            let (client, commit) = (entry.client, entry.commit);
            if commit <= last || table.insert(entry).is_some() {
                return Err(TableRefusal::Client(client));
            }
            last = commit;
        }
        reader.finish()?;
        Ok(table)
    }
}

fn limits(limits: ClientLimits) -> [u32; 3] {
    [limits.clients, clamped(limits.replies), clamped(limits.reply_bytes)]
}

fn clamped(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn put_entry(into: &mut Vec<u8>, entry: &Entry) {
    put_u128(into, entry.client);
    put_u64(into, entry.session.0);
    put_u64(into, entry.commit.0);
    put_u64(into, entry.request);
    put_u32(into, clamped(entry.replies.len()));
    for reply in &entry.replies {
        put_u64(into, reply.request);
        put_u64(into, reply.op.0);
        put_u128(into, reply.stamp);
        put_u32(into, reply.bytes.as_ref().map_or(NOT_KEPT, |bytes| clamped(bytes.len())));
        into.extend_from_slice(reply.bytes.as_deref().unwrap_or_default());
    }
}

fn read_entry(reader: &mut Reader<'_>, limits: ClientLimits) -> Result<Entry, TableRefusal> {
    let (client, session) = (reader.u128()?, Op(reader.u64()?));
    let (commit, request, count) = (Op(reader.u64()?), reader.u64()?, reader.u32()?);
    if count > clamped(limits.replies) {
        return Err(TableRefusal::Client(client));
    }
    let mut replies = VecDeque::new();
    for _ in 0..count {
        replies.push_back(read_reply(reader, client, limits)?);
    }
    let entry = Entry { client, session, request, commit, replies };
    if is_possible(&entry) { Ok(entry) } else { Err(TableRefusal::Client(client)) }
}

fn read_reply(
    reader: &mut Reader<'_>,
    client: u128,
    limits: ClientLimits,
) -> Result<CachedReply, TableRefusal> {
    let (request, op) = (reader.u64()?, Op(reader.u64()?));
    let (stamp, length) = (reader.u128()?, reader.u32()?);
    let bytes = match length {
        NOT_KEPT => None,
        kept if kept as usize > limits.reply_bytes => return Err(TableRefusal::Client(client)),
        kept => Some(reader.bytes(kept as usize)?.to_vec()),
    };
    Ok(CachedReply { request, op, stamp, bytes })
}

/// Whether operations could have left such an entry: the registration first, every request later and higher than
/// the one before, the last one kept.
fn is_possible(entry: &Entry) -> bool {
    let Entry { client, session, request, commit, replies } = entry;
    let stamped = |reply: &CachedReply| reply.request > 0 || reply.stamp == 0;
    let registration = |(number, op): (u64, Op)| (number == 0) == (op == *session) && op >= *session;
    let ascending = |(before, after): (&CachedReply, &CachedReply)| {
        before.request < after.request && before.op < after.op
    };
    let last = replies.back().map(|reply| (reply.request, reply.op));
    *client != 0
        && *session > Op::ZERO
        && registration((*request, *commit))
        && replies.iter().all(|reply| registration((reply.request, reply.op)) && stamped(reply))
        && replies.iter().zip(replies.iter().skip(1)).all(ascending)
        && last == Some((*request, *commit))
}
