//! The journal of a shard with its files, and the messages that wait for its syncs.

use std::collections::VecDeque;

use ng_io::{Completion, Environment, Instant, IoError, Token};
use ng_storage::journal::shell::{JournalShell, Measured};
use ng_storage::journal::{self, JournalFault, Located, Position, PrepareJournal, Refused};
use ng_storage::record::RecordHeader;
use ng_vsr::Ticks;
use ng_wire::replica::Message;

use crate::durability::after_sync::AfterSync;
use crate::durability::group_commit::GroupCommit;
use crate::group::Body;

/// Error number of a full disk.
pub(crate) const ENOSPC: i32 = 28;

/// An item that waits for a sync.
#[derive(Debug)]
pub(crate) enum Waits {
    /// A message for another replica, or for this one.
    Message { group: u64, to: u8, message: Box<Message>, body: Option<Body> },
    /// The files of an ended group, which are then deleted.
    Removal { group: u64 },
}

/// Reports of the journal to other components.
#[derive(Debug)]
pub(crate) enum Report {
    /// The journal has this many files now; the superblock must record it.
    Enlist { files: u32 },
    /// A stored record is unreadable.
    Damaged { group: u64, op: u64 },
    /// A write or a sync failed, so unsynced bytes cannot be trusted.
    Fatal(JournalFault),
}

/// The journal that all groups of a shard share.
#[derive(Debug)]
pub(crate) struct ShardJournal<E: Environment> {
    core: PrepareJournal,
    shell: JournalShell<E>,
    effects: Vec<journal::Effect>,
    reports: VecDeque<Report>,
    group_commit: GroupCommit,
    /// First block of this run; all recovered records are before it.
    first_block: u64,
    /// Start of the current idle period, after which a mark is written.
    quiet_since: Option<Ticks>,
    synced: AfterSync<Waits>,
    /// Messages with a promise: each waits until a later block proves the promise, then for its own block.
    proven: AfterSync<(u64, Waits)>,
}

impl<E: Environment> ShardJournal<E> {
    /// Continues the journal of the last run; `first_block` is its next block.
    pub(crate) fn new(
        core: PrepareJournal,
        shell: JournalShell<E>,
        effects: Vec<journal::Effect>,
        first_block: u64,
    ) -> Self {
        Self {
            core,
            shell,
            effects,
            reports: VecDeque::new(),
            group_commit: GroupCommit::default(),
            first_block,
            quiet_since: None,
            synced: AfterSync::new(),
            proven: AfterSync::new(),
        }
    }

    /// The core, read-only.
    pub(crate) const fn core(&self) -> &PrepareJournal {
        &self.core
    }

    /// The core, to plant a bug.
    pub(crate) const fn core_mut(&mut self) -> &mut PrepareJournal {
        &mut self.core
    }

    pub(crate) const fn first_block(&self) -> u64 {
        self.first_block
    }

    /// Sizes of blocks and durations of syncs.
    pub(crate) const fn measured(&self) -> &Measured {
        self.shell.measured()
    }

    pub(crate) fn append(&mut self, header: RecordHeader, body: Body) -> Result<Position, Refused> {
        self.core.append(header, body)
    }

    /// Requires that a later block proves this one.
    pub(crate) fn prove(&mut self, block: u64) {
        self.core.prove(block);
    }

    /// Frees files as soon as a manifest allows it.
    pub(crate) const fn make_room(&mut self) {
        self.core.make_room();
    }

    pub(crate) fn step(&mut self, event: journal::Event) {
        self.core.step(event, &mut self.effects);
    }

    /// Starts to read the body of a record.
    pub(crate) fn read_body(&mut self, driver: &mut E::Driver, located: &Located, token: Token) {
        self.shell.read_body(driver, located, token);
    }

    /// Takes a completion; returns it if it belongs to another component.
    pub(crate) fn complete(&mut self, driver: &mut E::Driver, completion: Completion) -> Option<Completion> {
        if !self.shell.owns(&completion) {
            return Some(completion);
        }
        if let Some(event) = self.shell.event(driver, completion) {
            self.step(event);
        }
        None
    }

    /// [`ShardJournal::perform`] has work that need not wait for more records.
    pub(crate) const fn has_effects(&self) -> bool {
        !self.effects.is_empty()
    }

    /// Performs the effects of the core, then starts its next block, unless group commit delays it. This
    /// order is necessary because the completed sync determines how many records are expected. If segments
    /// wait for space (`leaves_space`), the journal does not grow.
    pub(crate) fn perform(&mut self, driver: &mut E::Driver, leaves_space: bool, now: Instant) {
        self.perform_effects(driver, leaves_space);
        let patience = self.shell.measured().recent_sync();
        if !self.core.is_idle() || !self.group_commit.holds(self.core.waiting(), patience, now) {
            self.core.start(&mut self.effects);
            self.perform_effects(driver, leaves_space);
        }
    }

    /// Next report to other components, oldest first.
    pub(crate) fn next_report(&mut self) -> Option<Report> {
        self.reports.pop_front()
    }

    fn perform_effects(&mut self, driver: &mut E::Driver, leaves_space: bool) {
        if self.effects.is_empty() {
            return;
        }
        if leaves_space {
            self.refuse_growth();
        }
        self.shell.perform(driver, &mut self.effects);
        for effect in self.effects.drain(..) {
            match effect {
                journal::Effect::Durable { through, records } => {
                    self.group_commit.durable(records + self.core.waiting());
                    self.synced.synced(through);
                    self.proven.synced(self.core.proven_through());
                }
                journal::Effect::Enlist { files } => self.reports.push_back(Report::Enlist { files }),
                journal::Effect::Damaged { group, op } => {
                    self.reports.push_back(Report::Damaged { group, op });
                }
                journal::Effect::Fatal(fault) => self.reports.push_back(Report::Fatal(fault)),
                other => unreachable!("the shell performs {other:?}"),
            }
        }
    }

    /// Refuses growth of the journal. It would otherwise consume the space that a purge frees before messages
    /// are written there, and grow again because they are not. It needs two files to work at all.
    fn refuse_growth(&mut self) {
        if self.core.files() < journal::FILES_MIN {
            return;
        }
        let grows = |effect: &mut journal::Effect| matches!(effect, journal::Effect::Grow { .. });
        if self.effects.extract_if(.., grows).count() > 0 {
            self.step(journal::Event::Grown(Err(IoError::new("leave space to segments", ENOSPC))));
        }
    }

    /// Holds an item until a block is synced. An item with a promise first waits until a later block proves
    /// block `promised`. Returns the item if it need not wait; [`ShardJournal::release`] returns it later.
    pub(crate) fn hold(&mut self, block: u64, promised: u64, waits: Waits) -> Option<Waits> {
        let (block, waits) = self.proven.until(promised, (block, waits))?;
        self.synced.until(block, waits)
    }

    /// Next item that no longer waits.
    pub(crate) fn release(&mut self) -> Option<Waits> {
        while let Some((block, waits)) = self.proven.next() {
            if let Some(waits) = self.synced.until(block, waits) {
                return Some(waits);
            }
        }
        self.synced.next()
    }

    /// Requests a mark after an idle time of `patience`, so that a crash leaves no block unproven. Returns
    /// true if it did.
    pub(crate) fn leave_mark_when_quiet(&mut self, now: Ticks, patience: Ticks) -> bool {
        if !self.core.wants_mark() {
            self.quiet_since = None;
            return false;
        }
        let since = *self.quiet_since.get_or_insert(now);
        let is_due = now > since && now >= since + patience;
        if is_due {
            self.quiet_since = None;
            self.step(journal::Event::Idle);
        }
        is_due
    }

    /// Time at which a mark is due after an idle time of `patience`.
    pub(crate) fn mark_deadline(&self, patience: Ticks) -> Option<Ticks> {
        self.quiet_since.map(|since| since + patience)
    }

    /// Time at which a delayed block is started.
    pub(crate) const fn block_deadline(&self) -> Option<Instant> {
        self.group_commit.deadline()
    }
}
