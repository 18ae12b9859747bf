use ng_wire::replica::{Commit, DoViewChange, Message, Op, PrepareHeader, View};

use crate::absent::Absent;
use crate::client_table::ClientTable;
use crate::effect::{Appends, Drop, Effect, Effects, Position};
use crate::event::Event;
use crate::plant::Planted;
use crate::quorum::Quorums;
use crate::recovery::Recovered;
use crate::repair::Asked;
use crate::setup::{Setup, Ticks, UnsoundSetup};
use crate::suspicion::Suspicion;
use crate::timers::Timers;
use crate::window::Window;

/// What a replica takes part in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The view has begun here.
    Normal,
    /// It voted for the view, or was about to when it stopped, and waits for it to begin.
    ViewChange,
    /// It restarted and asks the primary for the log of its view; it still votes for later ones.
    Rejoining,
    /// Its disk is blank: it may have promised anything, so it promises nothing until others told it the view.
    Blank,
    /// What it executed is not what the group committed. It does nothing any more.
    Diverged,
}

/// What the journal gave back.
#[derive(Clone, Debug)]
pub enum Directory {
    /// A directory that the founding of the group made, with what was written to it since.
    Recovered(Box<Recovered>),
    /// A directory that should hold something and does not: a new or wiped disk, or one whose damage names no
    /// group.
    Blank,
    /// What was promised is lost, but a state that the group committed was kept, or a view is known that others were told.
    /// Like a blank one it promises nothing until others told it the view, but it goes on from that state, and enters no
    /// view before that one.
    Unsworn(Box<Recovered>),
}

/// One member of one group: the whole of its consensus, as a value.
#[derive(Debug)]
pub struct Replica {
    pub(crate) setup: Setup,
    pub(crate) quorums: Quorums,
    pub(crate) status: Status,
    pub(crate) view: View,
    /// The last view whose log was taken over. Raised only together with a view record that says so.
    pub(crate) log_view: View,
    /// What was executed here.
    pub(crate) commit_min: Op,
    /// What the group committed, as far as known here; may lie beyond the head.
    pub(crate) commit_max: Op,
    /// What was handed out for execution.
    pub(crate) applying: Op,
    /// The end of the primary's log, as far as known here.
    pub(crate) known_head: Op,
    pub(crate) window: Window,
    pub(crate) journal: Appends,
    /// The record of the current view: no message of the view leaves before it is synced.
    pub(crate) view_position: Position,
    pub(crate) clients: Option<Box<ClientTable>>,
    pub(crate) suspicion: Suspicion,
    /// One place for each replica while votes are collected, else empty.
    pub(crate) votes: Vec<Option<DoViewChange>>,
    /// Who said, since votes are collected, that its disk is blank: it has none to give. A bit for each.
    pub(crate) blank: u32,
    /// Tells this life of the replica from those before.
    pub(crate) nonce: u64,
    /// What a blank replica was told, one place for each replica; else empty.
    pub(crate) probed: Vec<Option<View>>,
    /// Whose state is being fetched; the shell says how that ends.
    pub(crate) fetching: Option<u8>,
    /// Whose state did not come: another replica's may. This one is passed over once, and then tried again.
    pub(crate) passed_over: Option<u8>,
    pub(crate) absent: Absent,
    /// Places behind this op are kept for a replica that fetches the state as of it.
    pub(crate) kept_behind: Option<Op>,
    /// What was asked for last of the places that lack.
    pub(crate) asked: Asked,
    /// Who is asked next for repair.
    pub(crate) repair_turn: u8,
    /// Rounds of repair since nothing lacked.
    pub(crate) fruitless: u32,
    pub(crate) timers: Timers,
    pub(crate) planted: Planted,
}

impl Replica {
    /// A replica that begins with what its journal gave back. `nonce` is not zero and differs from that of
    /// every earlier life of this replica, those with another disk among them.
    pub fn open(
        setup: Setup,
        directory: Directory,
        nonce: u64,
        now: Ticks,
        effects: &mut Effects,
    ) -> Result<Self, UnsoundSetup> {
        let mut replica = Self::begin(setup, directory, nonce)?;
        replica.wake_up(now, effects);
        Ok(replica)
    }

    /// Like [`Replica::open`], with a bug from the first moment on.
    #[cfg(any(test, feature = "plants"))]
    pub fn open_planted(
        setup: Setup,
        directory: Directory,
        nonce: u64,
        now: Ticks,
        bug: Option<crate::plant::Plant>,
        effects: &mut Effects,
    ) -> Result<Self, UnsoundSetup> {
        let mut replica = Self::begin(setup, directory, nonce)?;
        replica.planted.bug = bug;
        replica.wake_up(now, effects);
        Ok(replica)
    }

    fn begin(setup: Setup, directory: Directory, nonce: u64) -> Result<Self, UnsoundSetup> {
        if !setup.is_sound() || nonce == 0 {
            return Err(UnsoundSetup);
        }
        let (status, recovered) = match directory {
            Directory::Recovered(recovered) if recovered.view > recovered.log_view => {
                (Status::ViewChange, recovered)
            }
            Directory::Recovered(recovered) => (Status::Rejoining, recovered),
            Directory::Blank => (Status::Blank, Box::new(Recovered::lost(&setup))),
            Directory::Unsworn(kept) => (Status::Blank, kept),
        };
        let commit_min = recovered.window.base();
        Ok(Self {
            quorums: setup.quorums(),
            status,
            view: recovered.view,
            log_view: recovered.log_view,
            commit_min,
            commit_max: recovered.commit.max(commit_min),
            applying: commit_min,
            known_head: Op::ZERO,
            window: recovered.window,
            journal: Appends::default(),
            view_position: Position::RECOVERED,
            clients: recovered.clients.or_else(|| setup.clients.map(ClientTable::new)).map(Box::new),
            suspicion: Suspicion::default(),
            votes: Vec::new(),
            blank: 0,
            nonce,
            probed: Vec::new(),
            fetching: None,
            passed_over: None,
            absent: Absent::default(),
            kept_behind: None,
            asked: Asked::Nothing,
            repair_turn: 0,
            fruitless: 0,
            timers: Timers::default(),
            planted: Planted::default(),
            setup,
        })
    }

    /// One thing happened; what follows from it is appended to `effects`.
    pub fn step(&mut self, event: Event, now: Ticks, effects: &mut Effects) {
        if self.status == Status::Diverged {
            return;
        }
        match event {
            Event::Request(request) => self.on_request(&request, now, effects),
            Event::Message { from, message } => self.on_message(from, message, effects),
            Event::Applied { header, reply } => self.on_applied(&header, reply, effects),
            Event::Unreadable { op, checksum } => self.on_unreadable(op, checksum),
            Event::Fetched { anchor, clients } => self.on_fetched(anchor, clients, effects),
            Event::FetchFailed => self.passed_over = self.fetching.take(),
            Event::NotOpen { from } if from < self.setup.replicas => self.on_not_open(from, now, effects),
            Event::Opened { from } if from < self.setup.replicas => self.absent.remove(from),
            Event::NotOpen { .. } | Event::Opened { .. } => effects.dropped(Drop::Foreign),
            Event::Checkpointed(op) => self.on_checkpointed(op, now, effects),
            Event::RoomAgain => self.repair_from_primary(effects),
            Event::PrimarySilent => self.on_primary_silent(effects),
            Event::Tick => {}
        }
        while let Some(timer) = self.timers.due(now) {
            self.on_timer(timer, now, effects);
        }
        self.apply_committed(effects);
        self.arm(now);
    }

    /// When [`Event::Tick`] is due next, if nothing else happens before.
    #[must_use]
    pub fn deadline(&self) -> Option<Ticks> {
        self.timers.next()
    }

    /// What it takes part in.
    #[must_use]
    pub const fn status(&self) -> Status {
        self.status
    }

    /// The view it is in, or votes for.
    #[must_use]
    pub const fn view(&self) -> View {
        self.view
    }

    /// What it executed.
    #[must_use]
    pub const fn commit_min(&self) -> Op {
        self.commit_min
    }

    /// What the group committed, as far as it knows.
    #[must_use]
    pub const fn commit_max(&self) -> Op {
        self.commit_max
    }

    /// The first place behind what it executed whose operation is not here.
    #[must_use]
    pub fn lacks_from(&self) -> Op {
        self.window.lacking_after(self.commit_min).0
    }

    /// The last op of its log.
    #[must_use]
    pub fn head(&self) -> Op {
        self.window.head()
    }

    /// The log view and the places that are not executed, for the story of a failed test.
    #[cfg(test)]
    pub(crate) fn sketch(&self) -> String {
        let places: Vec<String> = self
            .window
            .after(self.commit_min)
            .map(|(op, slot)| {
                format!("{op}{:?}{}", slot.standing, if slot.header.is_none() { "?" } else { "" })
            })
            .collect();
        format!(
            "{} base {} missing {} tail {:?} {}",
            self.log_view,
            self.window.base(),
            self.window.missing(),
            self.window.tail,
            places.join(" ")
        )
    }

    /// What it takes in memory, its client table aside.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        let votes = self.votes.capacity() * size_of::<Option<DoViewChange>>();
        let probed = self.probed.capacity() * size_of::<Option<View>>();
        size_of::<Self>() + votes + probed + self.suspicion.heap_bytes() + self.window.heap_bytes()
    }

    /// The executed operation that a state transfer from here would contain last.
    #[must_use]
    pub fn anchor(&self) -> Option<PrepareHeader> {
        self.window.header(self.commit_min).copied()
    }

    /// Keeps the executed places behind an op, which others will ask for, or keeps them no more. Says for how long; the shell
    /// bounds how many they become.
    pub const fn keep_behind(&mut self, op: Option<Op>) {
        self.kept_behind = op;
    }

    /// The client table, in the metadata group.
    #[must_use]
    pub fn clients(&self) -> Option<&ClientTable> {
        self.clients.as_deref()
    }

    /// Whether it is the primary of a view that has begun.
    #[must_use]
    pub fn is_primary(&self) -> bool {
        self.status == Status::Normal && self.is_primary_of(self.view)
    }

    /// Who is primary, if this replica is in a view that has begun.
    #[must_use]
    pub fn primary(&self) -> Option<u8> {
        (self.status == Status::Normal).then(|| self.setup.primary(self.view))
    }

    /// The other replica that it follows, or waits for to begin the view. Its node's silence is
    /// [`Event::PrimarySilent`].
    #[must_use]
    pub fn awaited_primary(&self) -> Option<u8> {
        let waits = matches!(self.status, Status::Normal | Status::ViewChange | Status::Rejoining);
        (waits && !self.is_primary_of(self.view)).then(|| self.setup.primary(self.view))
    }

    /// What a primary says about its view while it has nothing else to say: for the beat of its node, and what
    /// a backup is given of that as [`Message::Commit`]. Other than before a step: there is news.
    #[must_use]
    pub fn beat(&self) -> Option<Commit> {
        let leads = self.is_primary() && self.suspicion.wish().is_none();
        leads.then(|| Commit { view: self.view, commit_max: self.commit_max, head: self.window.head() })
    }

    pub(crate) const fn is_primary_of(&self, view: View) -> bool {
        self.setup.primary(view) == self.setup.replica
    }

    pub(crate) const fn me(&self) -> u8 {
        self.setup.replica
    }

    /// Says something that vouches for nothing but the view.
    pub(crate) fn say(&self, to: u8, message: Message, effects: &mut Effects) {
        effects.push(Effect::Send { after: self.view_position, to, message });
    }

    pub(crate) fn say_to_others(&self, message: &Message, effects: &mut Effects) {
        for to in (0..self.setup.replicas).filter(|to| *to != self.me()) {
            self.say(to, message.clone(), effects);
        }
    }

    fn on_message(&mut self, from: u8, message: Message, effects: &mut Effects) {
        if from >= self.setup.replicas {
            effects.dropped(Drop::Foreign);
            return;
        }
        self.notice_life(from, &message);
        match message {
            Message::Prepare(prepare) => self.on_prepare(from, &prepare, effects),
            Message::PrepareOk(ok) => self.on_prepare_ok(from, &ok, effects),
            Message::Commit(commit) => self.on_commit(from, &commit, effects),
            Message::StartViewChange(wish) => self.on_start_view_change(from, wish, effects),
            Message::DoViewChange(vote) => self.on_do_view_change(from, vote, effects),
            Message::StartView(start) => self.on_start_view(from, &start, effects),
            Message::RequestStartView(request) => self.on_request_start_view(from, &request, effects),
            Message::Probe(probe) => self.on_probe(from, &probe, effects),
            Message::ProbeReply(reply) => self.on_probe_reply(from, &reply, effects),
            Message::RequestPrepares(request) => self.on_request_prepares(from, &request, effects),
            Message::TransferOffer(offer) => self.on_transfer_offer(from, &offer, effects),
        }
    }

    /// What comes from the primary of the view shows that it lives, whatever it is.
    fn notice_life(&mut self, from: u8, message: &Message) {
        let speaks_for_view =
            matches!(message, Message::Prepare(_) | Message::Commit(_) | Message::StartView(_));
        let alive = self.status == Status::Normal
            && speaks_for_view
            && from == self.setup.primary(self.view)
            && message.view() == Some(self.view);
        if alive {
            self.suspicion.calm();
        }
    }
}
