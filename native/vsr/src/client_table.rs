mod encoding;

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::BuildHasherDefault;

use ng_wire::replica::Op;

use crate::setup::ClientLimits;

pub use encoding::TableRefusal;

/// A reply as it was first given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedReply {
    /// The request it answers.
    pub request: u64,
    /// The place of the operation in the log.
    pub op: Op,
    /// The body checksum of the request: what comes under its number with another is another request.
    pub stamp: u128,
    /// The bytes, unless they were longer than the table keeps.
    pub bytes: Option<Vec<u8>>,
}

/// What the table knows of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup<'a> {
    /// It was never executed.
    New,
    /// It was executed, and this is its reply.
    Replay(&'a CachedReply),
    /// It was executed, and its reply is no longer kept; or another was executed under its number.
    Superseded,
    /// The client has no such session.
    NoSession,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    client: u128,
    /// The op of the registration.
    session: Op,
    /// The highest request that was executed in the session.
    request: u64,
    /// The op that touched the entry last; what eviction goes by.
    commit: Op,
    /// Oldest first.
    replies: VecDeque<CachedReply>,
}

/// The sessions of the metadata group and the last replies of each.
///
/// Filled by executed operations only and in their order, so it is the same on every replica; it has a place for
/// a fixed number of clients, each of bounded size, and takes memory for those that it has.
#[derive(Clone, Debug)]
pub struct ClientTable {
    limits: ClientLimits,
    /// Never iterated: its order is nobody's.
    entries: HashMap<u128, Entry, BuildHasherDefault<DefaultHasher>>,
    /// The client by the op that touched it last; each op touches one client.
    by_commit: BTreeMap<Op, u128>,
    /// How many sessions a full table spares that it should give up: zero but for a planted bug.
    #[cfg(any(test, feature = "plants"))]
    pub(crate) planted_skew: usize,
}

impl ClientTable {
    /// An empty table.
    #[must_use]
    pub fn new(limits: ClientLimits) -> Self {
        Self {
            limits,
            entries: HashMap::default(),
            by_commit: BTreeMap::new(),
            #[cfg(any(test, feature = "plants"))]
            planted_skew: 0,
        }
    }

    /// How many clients have a session.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no client has a session.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The session of a client.
    #[must_use]
    pub fn session(&self, client: u128) -> Option<Op> {
        Some(self.entries.get(&client)?.session)
    }

    /// What is known of a request with this body checksum.
    #[must_use]
    pub fn look_up(&self, client: u128, session: u64, request: u64, stamp: u128) -> Lookup<'_> {
        match self.recall(client, session, request) {
            Lookup::Replay(reply) if reply.stamp != stamp => Lookup::Superseded,
            known => known,
        }
    }

    /// What is known of a request with this number, whatever its body.
    #[must_use]
    pub fn recall(&self, client: u128, session: u64, request: u64) -> Lookup<'_> {
        let Some(entry) = self.entries.get(&client).filter(|entry| entry.session.0 == session) else {
            return Lookup::NoSession;
        };
        if request > entry.request {
            return Lookup::New;
        }
        match entry.replies.iter().find(|reply| reply.request == request) {
            Some(reply) if reply.bytes.is_some() => Lookup::Replay(reply),
            _ => Lookup::Superseded,
        }
    }

    /// A registration was executed: the client has a session, numbered by the op. A full table gives up the
    /// session whose last operation is the oldest, and names its client.
    pub fn register(&mut self, client: u128, op: Op, reply: Vec<u8>) -> Option<u128> {
        self.remove(client);
        let full = self.len() >= self.limits.clients as usize;
        let evicted = if full { self.evict() } else { None };
        let replies = [self.cached(0, 0, op, reply)].into();
        self.insert(Entry { client, session: op, request: 0, commit: op, replies });
        evicted
    }

    /// A request was executed. Nothing is kept for a client whose session is gone.
    ///
    /// # Panics
    ///
    /// If the request is not beyond those executed before: a repeated request was let into the log.
    pub fn commit(&mut self, client: u128, request: u64, stamp: u128, op: Op, reply: Vec<u8>) {
        let reply = self.cached(request, stamp, op, reply);
        let keep = self.limits.replies;
        let Some(entry) = self.entries.get_mut(&client) else { return };
        assert!(request > entry.request, "request {request} of a client was executed twice");
        assert!(op > entry.commit, "operations are executed in order");
        self.by_commit.remove(&entry.commit);
        self.by_commit.insert(op, client);
        entry.request = request;
        entry.commit = op;
        entry.replies.push_back(reply);
        while entry.replies.len() > keep {
            entry.replies.pop_front();
        }
    }

    /// A logout was executed, or a session ended otherwise.
    pub fn remove(&mut self, client: u128) {
        if let Some(entry) = self.entries.remove(&client) {
            self.by_commit.remove(&entry.commit);
        }
    }

    /// The entries, the one that was touched last at the end.
    fn by_commit(&self) -> impl Iterator<Item = &Entry> {
        self.by_commit.values().filter_map(|client| self.entries.get(client))
    }

    /// Puts an entry in; what it takes the place of.
    fn insert(&mut self, entry: Entry) -> Option<Entry> {
        self.by_commit.insert(entry.commit, entry.client);
        self.entries.insert(entry.client, entry)
    }

    fn evict(&mut self) -> Option<u128> {
        let spared = self.spared();
        let client = self.by_commit.values().nth(spared).copied()?;
        self.remove(client);
        Some(client)
    }

    #[cfg(any(test, feature = "plants"))]
    fn spared(&self) -> usize {
        self.planted_skew % self.len().max(1)
    }

    #[cfg(not(any(test, feature = "plants")))]
    #[allow(clippy::unused_self, reason = "the shape of the build that can plant bugs")]
    const fn spared(&self) -> usize {
        0
    }

    #[cfg(test)]
    pub(crate) fn heap_places(&self) -> usize {
        self.entries.capacity()
    }

    fn cached(&self, request: u64, stamp: u128, op: Op, bytes: Vec<u8>) -> CachedReply {
        let bytes = (bytes.len() <= self.limits.reply_bytes).then_some(bytes);
        CachedReply { request, op, stamp, bytes }
    }
}

impl PartialEq for ClientTable {
    fn eq(&self, other: &Self) -> bool {
        self.limits == other.limits && self.by_commit().eq(other.by_commit())
    }
}

impl Eq for ClientTable {}
