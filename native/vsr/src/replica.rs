use ng_wire::replica::{DoViewChange, Message, Op, PrepareHeader, View};

use crate::client_table::ClientTable;
use crate::effect::{Appends, Drop, Effect, Effects, Position};
use crate::event::Event;
use crate::plant::Planted;
use crate::quorum::Quorums;
use crate::recovery::Recovered;
use crate::setup::{Setup, Ticks, UnsoundSetup};
use crate::state_transfer::Transfer;
use crate::timers::{Timer, Timers};
use crate::view_change::Suspicion;
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
    pub(crate) clients: Option<ClientTable>,
    pub(crate) suspicion: Suspicion,
    pub(crate) votes: Vec<Option<DoViewChange>>,
    /// Tells this life of the replica from those before.
    pub(crate) nonce: u64,
    pub(crate) probed: Vec<Option<View>>,
    pub(crate) transfer: Option<Transfer>,
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

    pub(crate) fn begin(setup: Setup, directory: Directory, nonce: u64) -> Result<Self, UnsoundSetup> {
        if !setup.is_sound() || nonce == 0 {
            return Err(UnsoundSetup);
        }
        let (status, recovered) = match directory {
            Directory::Recovered(recovered) if recovered.view > recovered.log_view => {
                (Status::ViewChange, recovered)
            }
            Directory::Recovered(recovered) => (Status::Rejoining, recovered),
            Directory::Blank => (Status::Blank, Box::new(Recovered::lost(&setup))),
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
            clients: recovered.clients.or_else(|| setup.clients.map(ClientTable::new)),
            suspicion: Suspicion::new(setup.replicas),
            votes: vec![None; setup.replicas.into()],
            nonce,
            probed: vec![None; setup.replicas.into()],
            transfer: None,
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
            Event::Request(request) => self.on_request(&request, effects),
            Event::Message { from, message } => self.on_message(from, message, now, effects),
            Event::Applied { header, reply } => self.on_applied(&header, reply, effects),
            Event::Unreadable { op, checksum } => self.on_unreadable(op, checksum),
            Event::Fetched { anchor, clients } => self.on_fetched(anchor, clients, effects),
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

    /// The executed operation that a state transfer from here would contain last.
    #[must_use]
    pub fn anchor(&self) -> Option<PrepareHeader> {
        self.window.header(self.commit_min).copied()
    }

    /// The client table, in the metadata group.
    #[must_use]
    pub const fn clients(&self) -> Option<&ClientTable> {
        self.clients.as_ref()
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

    fn on_message(&mut self, from: u8, message: Message, now: Ticks, effects: &mut Effects) {
        if from >= self.setup.replicas {
            effects.dropped(Drop::Foreign);
            return;
        }
        self.notice_life(from, &message, now);
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
    fn notice_life(&mut self, from: u8, message: &Message, now: Ticks) {
        let speaks_for_view =
            matches!(message, Message::Prepare(_) | Message::Commit(_) | Message::StartView(_));
        let alive = self.status == Status::Normal
            && speaks_for_view
            && from == self.setup.primary(self.view)
            && message.view() == Some(self.view);
        if alive {
            self.suspicion.calm();
            self.timers.set(Timer::Suspicion, now + self.setup.timing.suspicion);
        }
    }

    fn on_timer(&mut self, timer: Timer, now: Ticks, effects: &mut Effects) {
        match timer {
            Timer::Heartbeat => self.show_life(effects),
            Timer::Suspicion => self.suspect(self.view.next(), effects),
            Timer::Resend => self.say_again(now, effects),
        }
    }

    fn say_again(&mut self, now: Ticks, effects: &mut Effects) {
        if let Some(wish) = self.suspicion.wish() {
            self.wish_for(wish, effects);
        }
        match self.status {
            Status::Normal if self.is_primary() => self.resend_prepares(effects),
            Status::Normal | Status::Diverged => {}
            Status::ViewChange => self.cast_vote(effects),
            Status::Rejoining => self.ask_for_view(self.setup.primary(self.view), effects),
            Status::Blank => self.ask_around(effects),
        }
        self.repair(now, effects);
    }

    /// Arms what is waited for, and only that: an idle backup has one timer, and nothing to say again.
    pub(crate) fn arm(&mut self, now: Ticks) {
        let timing = self.setup.timing;
        let primary = self.is_primary();
        self.keep(Timer::Heartbeat, primary && self.setup.replicas > 1, now + timing.heartbeat);
        let waits = !primary && !matches!(self.status, Status::Blank | Status::Diverged);
        self.keep(Timer::Suspicion, waits, now + timing.suspicion);
        let unanswered = self.status != Status::Normal
            || self.suspicion.wish().is_some()
            || (primary && self.window.head() > self.commit_max)
            || self.lacks_something();
        self.keep(Timer::Resend, unanswered, now + timing.resend);
    }

    const fn keep(&mut self, timer: Timer, wanted: bool, deadline: Ticks) {
        if !wanted {
            self.timers.clear(timer);
        } else if !self.timers.armed(timer) {
            self.timers.set(timer, deadline);
        }
    }
}
