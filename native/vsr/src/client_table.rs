use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::BuildHasherDefault;

use ng_wire::replica::Op;

use crate::setup::ClientLimits;

/// A reply as it was first given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedReply {
    /// The request it answers.
    pub request: u64,
    /// The place of the operation in the log.
    pub op: Op,
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
    /// It was executed, and its reply is no longer kept.
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
/// Filled by executed operations only and in their order, so it is the same on every replica; a fixed number
/// of slots, each of bounded size.
#[derive(Clone, Debug)]
pub struct ClientTable {
    limits: ClientLimits,
    slots: Vec<Option<Entry>>,
    /// Empty slots, the last one is taken first.
    free: Vec<u32>,
    /// Slot of each client. Never iterated: its order is nobody's.
    index: HashMap<u128, u32, BuildHasherDefault<DefaultHasher>>,
    /// Slot by the op that touched it last; each op touches one client.
    by_commit: BTreeMap<Op, u32>,
    /// Added to the slot that a full table gives up: zero but for a planted bug.
    #[cfg(test)]
    pub(crate) planted_skew: u32,
}

impl ClientTable {
    /// An empty table.
    #[must_use]
    pub fn new(limits: ClientLimits) -> Self {
        Self {
            limits,
            slots: vec![None; limits.clients as usize],
            free: (0..limits.clients).rev().collect(),
            index: HashMap::default(),
            by_commit: BTreeMap::new(),
            #[cfg(test)]
            planted_skew: 0,
        }
    }

    /// How many clients have a session.
    #[must_use]
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether no client has a session.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// The session of a client.
    #[must_use]
    pub fn session(&self, client: u128) -> Option<Op> {
        Some(self.entry(client)?.session)
    }

    /// What is known of a request.
    #[must_use]
    pub fn look_up(&self, client: u128, session: u64, request: u64) -> Lookup<'_> {
        let Some(entry) = self.entry(client).filter(|entry| entry.session.0 == session) else {
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
        let evicted = if self.free.is_empty() { self.evict() } else { None };
        let slot = self.free.pop()?;
        let reply = self.cached(0, op, reply);
        let entry = Entry { client, session: op, request: 0, commit: op, replies: [reply].into() };
        self.slots[slot as usize] = Some(entry);
        self.index.insert(client, slot);
        self.by_commit.insert(op, slot);
        evicted
    }

    /// A request was executed. Nothing is kept for a client whose session is gone.
    ///
    /// # Panics
    ///
    /// If the request is not beyond those executed before: a repeated request was let into the log.
    pub fn commit(&mut self, client: u128, request: u64, op: Op, reply: Vec<u8>) {
        let reply = self.cached(request, op, reply);
        let keep = self.limits.replies;
        let Some(slot) = self.index.get(&client).copied() else { return };
        let Some(entry) = self.slots[slot as usize].as_mut() else { return };
        assert!(request > entry.request, "request {request} of a client was executed twice");
        assert!(op > entry.commit, "operations are executed in order");
        self.by_commit.remove(&entry.commit);
        self.by_commit.insert(op, slot);
        entry.request = request;
        entry.commit = op;
        entry.replies.push_back(reply);
        while entry.replies.len() > keep {
            entry.replies.pop_front();
        }
    }

    /// A logout was executed, or a session ended otherwise.
    pub fn remove(&mut self, client: u128) {
        let Some(slot) = self.index.remove(&client) else { return };
        if let Some(entry) = self.slots[slot as usize].take() {
            self.by_commit.remove(&entry.commit);
            self.free.push(slot);
        }
    }

    fn evict(&mut self) -> Option<u128> {
        let (_, oldest) = self.by_commit.first_key_value()?;
        #[cfg(test)]
        let oldest = &((*oldest + self.planted_skew) % self.limits.clients);
        let client = self.slots[*oldest as usize].as_ref()?.client;
        self.remove(client);
        Some(client)
    }

    fn cached(&self, request: u64, op: Op, bytes: Vec<u8>) -> CachedReply {
        let bytes = (bytes.len() <= self.limits.reply_bytes).then_some(bytes);
        CachedReply { request, op, bytes }
    }

    fn entry(&self, client: u128) -> Option<&Entry> {
        self.slots[*self.index.get(&client)? as usize].as_ref()
    }
}

impl PartialEq for ClientTable {
    fn eq(&self, other: &Self) -> bool {
        self.limits == other.limits && self.slots == other.slots && self.free == other.free
    }
}

impl Eq for ClientTable {}
