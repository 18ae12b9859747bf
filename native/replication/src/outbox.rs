//! What a shard's log asks of the world around it.

use std::collections::VecDeque;

use ng_io::IoError;
use ng_storage::poison::Poison;
use ng_storage::segments_file::Fence;
use ng_storage::store::StoreDamage;
use ng_wire::replica::Op;
use ng_wire::table::error::ErrorCode;

use crate::group::{Body, Ticket};
use crate::poll::request::{PollRefusal, Polled};
use crate::segments::adopt::AdoptionEnd;
use crate::segments::lease_cut::CutEnd;

/// What is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogCounts {
    /// Frames of other nodes that were not taken, and messages that replicas had no use for.
    pub dropped: u64,
    /// Prepares of other nodes for which the journal had no room.
    pub dropped_full: u64,
    /// Messages to other nodes whose bodies found no room among the reads.
    pub dropped_reads: u64,
    /// Requests that were told to come again.
    pub busy: u64,
    /// Bodies read back from the journal.
    pub read: u64,
    /// Times that the segments of a group had to wait for space or descriptors.
    pub put_off: u64,
}

/// What the log asks of the world, oldest first, until somebody takes it.
#[derive(Debug)]
pub(crate) struct Outbox {
    queue: VecDeque<Outgoing>,
    pub(crate) counts: LogCounts,
    watched: bool,
    poison: Poison,
}

impl Outbox {
    pub(crate) fn new() -> Self {
        Self { queue: VecDeque::new(), counts: LogCounts::default(), watched: false, poison: Poison::none() }
    }

    pub(crate) fn push(&mut self, outgoing: Outgoing) {
        self.queue.push_back(outgoing);
    }

    pub(crate) fn answer(&mut self, ticket: Ticket, answer: LogAnswer) {
        self.push(Outgoing::Answer { ticket, answer });
    }

    /// The process must end. Only the first reason is told: others follow from it.
    pub(crate) fn fail(&mut self, why: Fatal) {
        if self.poison.set() {
            self.push(Outgoing::Fatal(Box::new(why)));
        }
    }

    /// The process must end, and the journal has said why.
    pub(crate) const fn stop(&mut self) {
        self.poison.set();
    }

    pub(crate) const fn has_failed(&self) -> bool {
        self.poison.is_set()
    }

    pub(crate) const fn watch(&mut self) {
        self.watched = true;
    }

    /// Whether somebody wants to hear of each execution.
    pub(crate) const fn is_watched(&self) -> bool {
        self.watched
    }

    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Outgoing> + '_ {
        self.queue.drain(..)
    }
}

/// Something that leaves the log.
#[derive(Debug)]
pub enum Outgoing {
    /// A frame for another node. A full link drops it, and counts that.
    Frame {
        /// Which node.
        to: u8,
        /// The sealed part.
        head: Vec<u8>,
        /// The body of a prepare or of a piece of state, which follows it.
        body: Option<Body>,
    },
    /// The answer to a request.
    Answer {
        /// Which request.
        ticket: Ticket,
        /// What became of it.
        answer: LogAnswer,
    },
    /// The answer to a poll.
    Polled {
        /// Which poll.
        ticket: Ticket,
        /// The messages, or why there are none.
        answer: Result<Polled, PollRefusal>,
    },
    /// A poll met stored messages that are damaged or missing.
    Damaged {
        /// Of which group.
        group: u64,
        /// Where they begin, as far as the poll could tell.
        offset: u64,
    },
    /// Files of a group could not be removed. That is tried again.
    RemovalFailed {
        /// Which group.
        group: u64,
        /// Why.
        error: IoError,
    },
    /// Stored messages are lost for good, or are so no more because nothing before or after them is left.
    Fenced {
        /// Of which group.
        group: u64,
        /// All ranges of them that there are now.
        fences: Vec<Fence>,
    },
    /// An operation was executed here; said only to those who watch ([`crate::ShardLog::watch`]).
    Executed {
        /// The group.
        group: u64,
        /// Its header.
        header: Box<ng_wire::replica::PrepareHeader>,
        /// Its body.
        body: Body,
        /// What the state machine answered.
        reply: Vec<u8>,
    },
    /// What came of a cut.
    Cut {
        /// Who asked for it.
        asker: u64,
        /// Of which group.
        group: u64,
        /// What it contains, if there is one.
        end: CutEnd,
    },
    /// What came of an adoption.
    Adopted {
        /// Who asked for it.
        asker: u64,
        /// Into which group.
        group: u64,
        /// Whether its files are segments now.
        end: AdoptionEnd,
    },
    /// A client of the metadata group lost its session to make room.
    Evicted(u128),
    /// A state from another replica took the place of this one's.
    Installed {
        /// The group.
        group: u64,
        /// The last operation it contains.
        op: Op,
    },
    /// Nothing is left of a group that was removed.
    Removed {
        /// Which group.
        group: u64,
    },
    /// Every replica of a group has voted and none can tell whether an operation was committed: the group
    /// stands still until an operator decides. Said again for as long as it is so.
    Undecidable {
        /// The group.
        group: u64,
        /// The first place in doubt.
        op: Op,
    },
    /// The process must end, and say why.
    Fatal(Box<Fatal>),
}

/// What becomes of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogAnswer {
    /// It was executed; the state machine's answer.
    Done {
        /// Its place in the log.
        op: Op,
        /// The bytes.
        reply: Vec<u8>,
    },
    /// Too much is waiting; it was not taken.
    Busy,
    /// Another node leads the group.
    NotPrimary,
    /// It was taken, and this node no longer leads the group: it may be executed or not.
    Uncertain,
    /// The client has no such session.
    NoSession,
    /// It was executed; its reply is no longer kept.
    Superseded,
    /// The group does not know the operation.
    Unsupported,
    /// The bytes are not what the operation needs, or the partition does not take them: what the client is
    /// told.
    Invalid(ErrorCode),
    /// This shard has no such group.
    NoGroup,
}

/// Why a process must end.
#[derive(Debug)]
pub enum Fatal {
    /// A file could not be written or synced: exit status 74.
    Write {
        /// Which file.
        file: String,
        /// Why.
        error: IoError,
    },
    /// The segments of a group do not hold what was executed. Only another disk of this node can be repaired
    /// by the other nodes: exit status 65.
    Segments(StoreDamage),
    /// What was acknowledged cannot be read from the journal, and no other node has it: exit status 65.
    Lost {
        /// The group.
        group: u64,
        /// The first place in doubt.
        op: Op,
    },
    /// What this node executed is not what its group committed: exit status 70.
    Diverged {
        /// The group.
        group: u64,
        /// The place.
        op: Op,
    },
}
