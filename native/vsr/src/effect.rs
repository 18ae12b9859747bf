use ng_wire::replica::{Message, Op, PrepareHeader, View};

/// A point in the journal of one group: everything appended up to it.
///
/// Only appending makes one, so that what waits for durability cannot be sent without naming what it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position(u64);

impl Position {
    /// What was recovered from the journal, and so is synced.
    pub const RECOVERED: Self = Self(0);
}

/// Numbers the records that a replica appends.
#[derive(Debug, Default)]
pub(crate) struct Appends {
    last: u64,
}

impl Appends {
    pub(crate) fn append(&mut self, record: Record, effects: &mut Effects) -> Position {
        self.last += 1;
        let position = Position(self.last);
        effects.push(Effect::Append { position, record });
        position
    }

    /// Everything appended so far.
    pub(crate) const fn position(&self) -> Position {
        Position(self.last)
    }
}

/// A record for the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// An operation; its body came with the event.
    Prepare(PrepareHeader),
    /// The replica takes part in no earlier view any more.
    View(ViewRecord),
    /// The state up to this operation came from another replica; prepares up to it count no more.
    Install(PrepareHeader),
}

/// What a replica promised about views.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewRecord {
    /// The view it is in, or votes for.
    pub view: View,
    /// The last view whose log it took over. Equal to `view` when this record takes it over.
    pub log_view: View,
    /// What it knows to be committed.
    pub commit: Op,
    /// The last op of its log.
    pub head: Op,
    /// The log from an executed op to the head, where `log_view` equals `view`; else empty.
    pub headers: Vec<PrepareHeader>,
}

/// What becomes of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It was executed; the same bytes each time it is asked for.
    Done {
        /// The place of the operation in the log.
        op: Op,
        /// What the state machine answered.
        reply: Vec<u8>,
    },
    /// It stands in the log and will be answered when it was executed.
    Pending,
    /// It was executed; its reply is no longer kept.
    Superseded,
    /// The client has no such session.
    NoSession,
    /// Too much is waiting already.
    Busy,
    /// Another replica is, or will be, primary.
    NotPrimary,
    /// This release, or this group, does not know the operation.
    Unsupported,
}

/// Why something was not taken; counted by the shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drop {
    /// A message of an earlier view.
    OlderView,
    /// A message that this status has no use for.
    Status,
    /// A prepare beyond the end of the log or the window.
    Window,
    /// A prepare that does not continue the log.
    Parent,
    /// A prepare of an operation that this release does not know.
    UnknownOperation,
    /// A message about another group or epoch, or from no member of it.
    Foreign,
}

/// What a shell does for a replica, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Append a record to the journal.
    Append {
        /// Its number.
        position: Position,
        /// The record.
        record: Record,
    },
    /// Send a message once everything up to `after` is synced; to itself it comes back as an event.
    ///
    /// The body of a prepare is that of the record with its checksum, which was appended or recovered before.
    Send {
        /// What must be synced first.
        after: Position,
        /// To whom.
        to: u8,
        /// What.
        message: Message,
    },
    /// Execute a committed operation and report it with [`crate::Event::Applied`].
    Apply(PrepareHeader),
    /// Answer a client that is connected here.
    Reply {
        /// Who asked.
        client: u128,
        /// Its request number.
        request: u64,
        /// The answer.
        answer: Answer,
    },
    /// A client lost its session to make room.
    Evicted(u128),
    /// Fetch the state as of an operation and report it with [`crate::Event::Fetched`], or that it does not come with
    /// [`crate::Event::FetchFailed`].
    Fetch {
        /// Who has it.
        from: u8,
        /// The last operation it contains.
        anchor: PrepareHeader,
    },
    /// Put the fetched state in the place of the own one.
    Install {
        /// The record that says so; operations are executed on it at once, its files are kept until then.
        after: Position,
        /// The last operation it contains.
        anchor: PrepareHeader,
    },
    /// Something was not taken.
    Dropped(Drop),
    /// A quorum voted, and cannot tell whether this operation was committed: more replicas are needed.
    Undecidable {
        /// The view that cannot begin.
        view: View,
        /// The first operation in doubt.
        op: Op,
        /// Whether no vote is missing but those of replicas whose disk is blank: no wait will help. Someone has to
        /// say which loss is accepted; until then the view changes go on, and this is said again.
        /// A frame that was late can make it true once: it counts when it lasts for a suspicion period.
        all_voted: bool,
    },
    /// What this replica executed is not what the group committed: it must stop.
    Diverged(Op),
}

/// The effects of one step, or of several; the shell drains it.
#[derive(Debug, Default)]
pub struct Effects {
    list: Vec<Effect>,
}

impl Effects {
    /// Takes them out, oldest first.
    pub fn drain(&mut self) -> impl Iterator<Item = Effect> + '_ {
        self.list.drain(..)
    }

    pub(crate) fn push(&mut self, effect: Effect) {
        self.list.push(effect);
    }

    pub(crate) fn dropped(&mut self, reason: Drop) {
        self.push(Effect::Dropped(reason));
    }
}
