//! From a journal back to a replica, and back into the group.

use ng_wire::replica::{Message, Op, PrepareHeader, Probe, ProbeReply, SUFFIX_MAX, Standing, Tail, View};

use crate::client_table::ClientTable;
use crate::effect::{Drop, Effects, Position, Record};
use crate::plant::Plant;
use crate::replica::{Directory, Replica, Status};
use crate::setup::Setup;
use crate::window::Window;

/// What the journal of a group says, in memory.
#[derive(Clone, Debug)]
pub struct Recovered {
    pub(crate) view: View,
    pub(crate) log_view: View,
    pub(crate) commit: Op,
    pub(crate) window: Window,
    pub(crate) clients: Option<ClientTable>,
}

impl Recovered {
    /// Nothing, where something may have been.
    pub(crate) fn lost(setup: &Setup) -> Self {
        let anchor = PrepareHeader::root(setup.group, setup.epoch);
        Self {
            view: View(0),
            log_view: View(0),
            commit: Op::ZERO,
            window: Window::new(anchor, Tail::Damaged),
            clients: None,
        }
    }
}

/// Reads the records of one group in journal order.
#[derive(Debug)]
pub struct Recovery {
    recovered: Recovered,
    /// Whether the directory was there when the group was founded, or has taken over a log since.
    votes: bool,
    root: PrepareHeader,
    /// The last operation of the state that was kept.
    kept: Option<PrepareHeader>,
    /// The highest view that a record names, whether it can be read or not.
    named: View,
    /// Records may be missing among those read so far: one of them may have replaced what still stands here.
    gaps: bool,
}

impl Recovery {
    /// Begins with an empty log; `founded` unless the open record says that the directory was blank.
    #[must_use]
    pub fn new(setup: &Setup, founded: bool) -> Self {
        let mut recovered = Recovered::lost(setup);
        let root = PrepareHeader::root(setup.group, setup.epoch);
        if founded {
            recovered.window.tail = Tail::Certain;
        }
        Self { recovered, votes: founded, root, kept: None, named: View(0), gaps: false }
    }

    /// The state machine was kept as of `anchor`, with the client table if this is the metadata group: what
    /// is replayed of it counts no more. Said first; at or beyond every [`Record::Install`], and no further
    /// behind the head than a vote may list.
    pub fn checkpoint(&mut self, anchor: PrepareHeader, clients: Option<ClientTable>) {
        self.recovered.window.install(anchor);
        self.recovered.commit = self.recovered.commit.max(anchor.op);
        self.recovered.clients = clients;
        self.kept = Some(anchor);
    }

    /// A record names this view. Where promises are lost that is all that is known of it: no earlier view is entered.
    pub fn names(&mut self, view: View) {
        self.named = self.named.max(view);
    }

    /// The next record. A prepare whose body cannot be read is [`Standing::Damaged`], or
    /// [`Standing::Unproven`] beyond what was proven synced; every other record is [`Standing::Present`].
    pub fn replay(&mut self, record: &Record, standing: Standing) {
        match record {
            Record::Prepare(header) => self.replay_prepare(header, standing),
            Record::View(record) => {
                let recovered = &mut self.recovered;
                recovered.view = record.view;
                recovered.log_view = record.log_view;
                if record.view == record.log_view {
                    let first = record.headers.first().map_or(Op::ZERO, |first| first.op);
                    // A log too far from what is here cannot be placed: then nothing is known for certain.
                    self.votes = first.since(recovered.window.head()) <= SUFFIX_MAX as u64;
                    if self.votes {
                        // After a gap what was committed is known by its place, and what stands there is not it for
                        // certain: a lost record may have taken over another log in between.
                        let vouched = if self.gaps { recovered.window.base() } else { recovered.commit };
                        recovered.window.adopt(&record.headers, vouched);
                        self.gaps = false;
                    }
                }
                recovered.commit = recovered.commit.max(record.commit);
            }
            // A checkpoint that came after it is further on.
            Record::Install(anchor) if anchor.op <= self.recovered.window.base() => {}
            Record::Install(anchor) => {
                self.recovered.window.install(*anchor);
                self.recovered.commit = self.recovered.commit.max(anchor.op);
            }
        }
    }

    /// Records may have stood here that name nothing any more: [`Tail::Unproven`] beyond what was proven
    /// synced, else [`Tail::Damaged`].
    ///
    /// It must be reported at each recovery at which it is still so: what came after may hang on it.
    pub fn lost(&mut self, tail: Tail) {
        self.gaps = true;
        self.recovered.window.doubt(tail);
    }

    /// Every record was read.
    #[must_use]
    pub fn finish(mut self) -> Directory {
        if !self.votes {
            return self.unsworn();
        }
        self.recovered.window.cut_disconnected();
        Directory::Recovered(Box::new(self.recovered))
    }

    fn unsworn(self) -> Directory {
        if self.kept.is_none() && self.named == View(0) {
            return Directory::Blank;
        }
        let anchor = self.kept.unwrap_or(self.root);
        Directory::Unsworn(Box::new(Recovered {
            view: self.named,
            log_view: View(0),
            commit: anchor.op,
            window: Window::new(anchor, Tail::Damaged),
            clients: self.recovered.clients,
        }))
    }

    fn replay_prepare(&mut self, header: &PrepareHeader, standing: Standing) {
        let window = &mut self.recovered.window;
        // What a later view committed is known of that view's log: without the record that takes it over, this is another.
        if header.view <= self.recovered.log_view {
            self.recovered.commit = self.recovered.commit.max(header.commit);
        }
        if header.op <= window.base() {
            return;
        }
        if header.op.since(window.head()) > SUFFIX_MAX as u64 {
            // More is missing in front of it than any log may hold: it cannot be placed, nor denied.
            window.doubt(Tail::Damaged);
            return;
        }
        let known = window.header(header.op).copied();
        let same = known.is_some_and(|known| known.checksum == header.checksum);
        if same && window.stored(header.op).is_some()
            || known.is_some_and(|known| !same && known.view >= header.view)
        {
            return;
        }
        window.place(*header, Position::RECOVERED);
        window.stand(header.op, standing);
    }
}

impl Replica {
    /// What a replica does first.
    pub(crate) fn wake_up(&mut self, now: u64, effects: &mut Effects) {
        if self.planted.has(Plant::VoteAfterWipe) && self.status == Status::Blank {
            self.status = Status::Rejoining;
            self.window.tail = Tail::Certain;
        }
        if self.planted.has(Plant::ResumedView)
            && self.status == Status::Rejoining
            && self.is_primary_of(self.view)
        {
            self.status = Status::Normal;
        }
        match self.status {
            // A primary that restarted does not know what its view did without it: it asks for the next one.
            Status::Rejoining if self.is_primary_of(self.view) => self.suspect(self.view.next(), effects),
            Status::Rejoining => self.ask_for_view(self.setup.primary(self.view), effects),
            Status::ViewChange => self.cast_vote(effects),
            Status::Blank => self.ask_around(effects),
            Status::Normal | Status::Diverged => {}
        }
        self.apply_committed(effects);
        self.arm(now);
    }

    /// The view that enough others told a blank replica.
    pub(crate) fn probed_view(&self) -> Option<View> {
        let known = self.probed.iter().flatten();
        (known.clone().count() >= usize::from(self.quorums.probe())).then(|| known.max().copied()).flatten()
    }

    pub(crate) fn ask_around(&self, effects: &mut Effects) {
        // Said as long as it is so: who collects votes must know that none comes from here.
        self.say_to_others(&Message::Probe(Probe { nonce: self.nonce }), effects);
        self.ask_all_for_view(effects);
    }

    /// Whoever is primary by now answers; that of the probed view may be gone.
    fn ask_all_for_view(&self, effects: &mut Effects) {
        if self.probed_view().is_some() {
            (0..self.setup.replicas).for_each(|of| self.ask_for_view(of, effects));
        }
    }

    pub(crate) fn on_probe(&mut self, from: u8, probe: &Probe, effects: &mut Effects) {
        if self.status == Status::Normal {
            let view = self.view.max(self.suspicion.highest());
            self.say(from, Message::ProbeReply(ProbeReply { view, nonce: probe.nonce }), effects);
            if self.primary() == Some(from) {
                // A primary whose disk is blank leads no more, and cannot wish: its node may beat on.
                self.suspect(self.view.next(), effects);
            }
            return;
        }
        if self.status == Status::ViewChange {
            self.blank |= 1 << from;
            self.decide(effects);
        }
        effects.dropped(Drop::Status);
    }

    pub(crate) fn on_probe_reply(&mut self, from: u8, reply: &ProbeReply, effects: &mut Effects) {
        if self.status != Status::Blank || reply.nonce != self.nonce || self.probed_view().is_some() {
            effects.dropped(Drop::Status);
            return;
        }
        self.probed.resize(self.setup.replicas.into(), None);
        self.probed[usize::from(from)] = Some(reply.view);
        self.ask_all_for_view(effects);
    }
}
