//! Everything that leaves a shard's log: frames, answers, reports and fatal errors.

use std::collections::VecDeque;

use ng_io::IoError;
use ng_storage::poison::Poison;
use ng_storage::segments_file::Fence;
use ng_storage::store::StoreDamage;
use ng_vsr::Answer;
use ng_wire::replica::Op;
use ng_wire::table::error::ErrorCode;

use crate::group::{Body, Ticket};
use crate::poll::request::{PollRefusal, Polled};
use crate::segments::adopt::AdoptionEnd;
use crate::segments::lease_cut::CutEnd;

/// Counters of the log since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogCounts {
    /// Refused frames of other nodes, and messages that replicas ignored.
    pub dropped: u64,
    /// Prepares of other nodes that the journal had no room for.
    pub dropped_full: u64,
    /// Messages to other nodes dropped because too many reads of bodies were queued.
    pub dropped_reads: u64,
    /// Requests refused with "try again".
    pub busy: u64,
    /// Bodies read back from the journal.
    pub read: u64,
    /// Times that writing a group's segments was deferred for lack of space or descriptors.
    pub put_off: u64,
}

/// Queue of outgoing items, oldest first, until the caller drains it.
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

    /// Ends the process. Only the first cause is reported, because later ones follow from it.
    pub(crate) fn fail(&mut self, why: Fatal) {
        if self.poison.set() {
            self.push(Outgoing::Fatal(Box::new(why)));
        }
    }

    /// Ends the process after the journal has reported the cause.
    pub(crate) const fn stop(&mut self) {
        self.poison.set();
    }

    pub(crate) const fn has_failed(&self) -> bool {
        self.poison.is_set()
    }

    pub(crate) const fn watch(&mut self) {
        self.watched = true;
    }

    /// The caller wants a report of each execution.
    pub(crate) const fn is_watched(&self) -> bool {
        self.watched
    }

    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Outgoing> + '_ {
        self.queue.drain(..)
    }
}

/// An item that leaves the log.
#[derive(Debug)]
pub enum Outgoing {
    /// A frame for another node. A full link drops and counts it.
    Frame {
        /// Node number of the receiver.
        to: u8,
        /// Sealed header and content.
        head: Vec<u8>,
        /// Body of a prepare or of a piece of state; it follows the head.
        body: Option<Body>,
    },
    /// The answer to a request.
    Answer {
        /// Ticket of the request.
        ticket: Ticket,
        /// Outcome.
        answer: LogAnswer,
    },
    /// The answer to a poll.
    Polled {
        /// Ticket of the poll.
        ticket: Ticket,
        /// Messages, or the reason for the refusal.
        answer: Result<Polled, PollRefusal>,
    },
    /// A poll found stored messages damaged or missing.
    Damaged {
        /// Group of the partition.
        group: u64,
        /// First damaged offset, as far as the poll knows it.
        offset: u64,
    },
    /// Files of a group could not be removed. The removal is tried again.
    RemovalFailed {
        /// Group of the files.
        group: u64,
        /// Cause.
        error: IoError,
    },
    /// The set of permanently lost messages changed: some were found lost, or a fence ended because no
    /// messages remain on one side of it.
    Fenced {
        /// Group of the partition.
        group: u64,
        /// All current fences.
        fences: Vec<Fence>,
    },
    /// An operation was executed here. Sent only after [`crate::ShardLog::watch`].
    Executed {
        /// Group of the operation.
        group: u64,
        /// Header of the operation.
        header: Box<ng_wire::replica::PrepareHeader>,
        /// Body of the operation.
        body: Body,
        /// Reply of the state machine.
        reply: Vec<u8>,
    },
    /// Outcome of a cut.
    Cut {
        /// Number that the caller gave to the cut.
        asker: u64,
        /// Group of the partition.
        group: u64,
        /// Contents of the cut, or the reason for its failure.
        end: CutEnd,
    },
    /// Outcome of an adoption.
    Adopted {
        /// Number that the caller gave to the adoption.
        asker: u64,
        /// Group of the partition.
        group: u64,
        /// Success, or the reason for the failure.
        end: AdoptionEnd,
    },
    /// A client of the metadata group lost its session, because the client table was full.
    Evicted(u128),
    /// A state from another replica replaced this replica's state.
    Installed {
        /// Group of the state.
        group: u64,
        /// Last operation in the state.
        op: Op,
    },
    /// All files of a removed group are deleted.
    Removed {
        /// Group that was removed.
        group: u64,
    },
    /// All replicas of a group have voted, but no replica knows whether an operation was committed. The group
    /// waits until an operator decides; the report repeats until then.
    Undecidable {
        /// Group that waits.
        group: u64,
        /// First op in doubt.
        op: Op,
    },
    /// The process must end and report the cause.
    Fatal(Box<Fatal>),
}

/// Outcome of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogAnswer {
    /// Executed.
    Done {
        /// Op in the log.
        op: Op,
        /// Reply of the state machine.
        reply: Vec<u8>,
    },
    /// Refused because too many requests wait.
    Busy,
    /// Refused because another node leads the group.
    NotPrimary,
    /// Accepted, but this node stopped leading the group: the request may be executed or not.
    Uncertain,
    /// The client has no such session.
    NoSession,
    /// Executed earlier; the client table has replaced its reply since.
    Superseded,
    /// The group does not know the operation.
    Unsupported,
    /// The body is malformed, or the partition rejects it; with the error for the client.
    Invalid(ErrorCode),
    /// This shard has no such group.
    NoGroup,
}

impl From<Answer> for LogAnswer {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Done { op, reply } => Self::Done { op, reply },
            // The first request is still in progress; a later repetition will be answered.
            Answer::Pending | Answer::Busy => Self::Busy,
            Answer::Superseded => Self::Superseded,
            Answer::NoSession => Self::NoSession,
            Answer::NotPrimary => Self::NotPrimary,
            Answer::Unsupported => Self::Unsupported,
        }
    }
}

/// Cause for which a process must end.
#[derive(Debug)]
pub enum Fatal {
    /// A write or sync failed: exit status 74.
    Write {
        /// File that failed.
        file: String,
        /// Cause.
        error: IoError,
    },
    /// The segments of a group contradict the executed operations. The other nodes can restore this node only
    /// onto another disk: exit status 65.
    Segments(StoreDamage),
    /// Acknowledged operations cannot be read from the journal, and no other node has them: exit status 65.
    Lost {
        /// Group of the operations.
        group: u64,
        /// First op in doubt.
        op: Op,
    },
    /// This node executed an operation that differs from the committed one: exit status 70.
    Diverged {
        /// Group of the operation.
        group: u64,
        /// Op that differs.
        op: Op,
    },
}
