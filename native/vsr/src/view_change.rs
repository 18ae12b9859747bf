//! From enough wishes to the log of the next view: vote, merge, begin, adopt.

use ng_wire::replica::{
    DoViewChange, Message, Op, PrepareHeader, RequestStartView, Standing, StartView, SuffixEntry, View,
};

use crate::effect::{Drop, Effect, Effects, Record, ViewRecord};
use crate::merge::{ChosenLog, Verdict, header_by_checksum, merge};
use crate::plant::Plant;
use crate::replica::{Replica, Status};
use crate::timers::Timer;

impl Replica {
    pub(crate) fn enter_view_change(&mut self, view: View, effects: &mut Effects) {
        self.view = view;
        self.status = Status::ViewChange;
        self.suspicion.calm();
        self.votes = Vec::new();
        self.blank = 0;
        self.timers.clear(Timer::Suspicion);
        self.write_view(Vec::new(), effects);
        self.cast_vote(effects);
    }

    fn write_view(&mut self, headers: Vec<PrepareHeader>, effects: &mut Effects) {
        if self.planted.has(Plant::UnwrittenView) {
            return;
        }
        let record = ViewRecord {
            view: self.view,
            log_view: self.log_view,
            commit: self.commit_max,
            head: self.window.head(),
            headers,
        };
        self.view_position = self.journal.append(Record::View(record), effects);
    }

    /// Votes for the view, also to itself: the vote leaves once the view and all it reports are synced.
    pub(crate) fn cast_vote(&self, effects: &mut Effects) {
        let mut vote = DoViewChange {
            view: self.view,
            log_view: self.log_view,
            commit_min: self.commit_min,
            commit_max: self.commit_max,
            tail: self.window.tail,
            suffix: self.window.suffix(self.commit_min),
        };
        if self.planted.has(Plant::TruncateOnDamage) {
            for entry in vote.suffix.iter_mut().filter(|entry| entry.standing == Standing::Damaged) {
                entry.standing = Standing::Absent;
            }
        }
        let message = Message::DoViewChange(vote);
        effects.push(Effect::Send {
            after: self.journal.position(),
            to: self.setup.primary(self.view),
            message,
        });
    }

    pub(crate) fn on_do_view_change(&mut self, from: u8, vote: DoViewChange, effects: &mut Effects) {
        if vote.view < self.view {
            self.help(from, 0, effects);
            return;
        }
        if !self.is_primary_of(vote.view) || !is_well_formed(&vote) {
            effects.dropped(Drop::Foreign);
            return;
        }
        if self.status == Status::Blank {
            effects.dropped(Drop::Status);
            return;
        }
        if vote.view > self.view {
            self.enter_view_change(vote.view, effects);
        }
        if self.status == Status::ViewChange {
            self.votes.resize(self.setup.replicas.into(), None);
            self.votes[usize::from(from)] = Some(vote);
            self.decide(effects);
        } else {
            self.help(from, 0, effects);
        }
    }

    /// Begins the view if the votes that are here, and the replicas that have none to give, say how.
    pub(crate) fn decide(&mut self, effects: &mut Effects) {
        if self.votes.get(usize::from(self.me())).is_none_or(Option::is_none) {
            return;
        }
        match merge(&self.votes, self.quorums) {
            Verdict::Begin(chosen) => self.begin_view(chosen, effects),
            Verdict::Wait(None) => {}
            Verdict::Wait(Some(op)) => {
                let mut silent = (0..self.setup.replicas).zip(&self.votes).filter(|(_, vote)| vote.is_none());
                let all_voted = silent.all(|(replica, _)| self.blank & 1 << replica != 0);
                effects.push(Effect::Undecidable { view: self.view, op, all_voted });
            }
        }
    }

    fn begin_view(&mut self, chosen: ChosenLog, effects: &mut Effects) {
        // A state transfer since its own vote shows that a later view has begun already.
        let overtaken = chosen.headers.last().is_none_or(|last| last.op < self.commit_min);
        let connected = self.connect(chosen.headers);
        let fits = |headers: &Vec<PrepareHeader>| headers.len() as u64 <= self.setup.limits.listed;
        let Some(headers) = connected.filter(|headers| !overtaken && fits(headers)) else {
            // Others have what this replica is too far behind to lead from: the next one may. Whoever keeps the latest state can
            // always list the log: nobody's head is further than that from the state that he keeps himself.
            self.suspect(self.view.next(), effects);
            return;
        };
        if !self.agrees_with(&headers) {
            self.diverge(effects);
            return;
        }
        self.take_over(&headers, chosen.commit_max, effects);
        let start = self.start_view_message(0);
        self.say_to_others(&Message::StartView(start), effects);
        self.acknowledge_uncommitted(effects);
    }

    /// The log of the view from what was executed here, if headers down to there are known; each is proved by
    /// the checksum that its successor holds.
    fn connect(&self, mut headers: Vec<PrepareHeader>) -> Option<Vec<PrepareHeader>> {
        while let Some(first) = headers.first().filter(|first| first.op > self.commit_min).copied() {
            let op = first.op.previous();
            let own = self.window.header(op).filter(|own| own.checksum == first.parent).copied();
            let before = own.or_else(|| header_by_checksum(&self.votes, op, first.parent))?;
            headers.insert(0, before);
        }
        Some(headers)
    }

    /// Whether a log contains what was executed here, as far as it reaches down.
    fn agrees_with(&self, headers: &[PrepareHeader]) -> bool {
        let executed = self.window.header(self.commit_min).map(|header| header.checksum);
        let listed = headers.iter().find(|header| header.op == self.commit_min);
        listed.is_none_or(|header| Some(header.checksum) == executed)
    }

    fn diverge(&mut self, effects: &mut Effects) {
        self.status = Status::Diverged;
        effects.push(Effect::Diverged(self.commit_min));
    }

    /// Makes the log of the view its own, in memory and in the journal at once: the log view never runs ahead.
    fn take_over(&mut self, headers: &[PrepareHeader], commit_max: Op, effects: &mut Effects) {
        let unchecked = self.planted.has(Plant::NoParentCheck);
        self.window.adopt(headers, if unchecked { Op(u64::MAX) } else { self.commit_max });
        self.commit_max = self.commit_max.max(commit_max);
        self.log_view = self.view;
        self.status = Status::Normal;
        self.known_head = Op::ZERO;
        self.suspicion.fulfil(self.view);
        self.votes = Vec::new();
        self.probed = Vec::new();
        self.timers.clear(Timer::Suspicion);
        self.write_view(headers.to_vec(), effects);
    }

    pub(crate) fn start_view_message(&self, nonce: u64) -> StartView {
        let headers = self.window.headers(self.commit_min);
        StartView { view: self.view, commit_max: self.commit_max, nonce, headers }
    }

    /// Tells a replica that is behind which view it is, if this is its primary.
    pub(crate) fn help(&self, to: u8, nonce: u64, effects: &mut Effects) {
        if self.is_primary() && to != self.me() {
            self.say(to, Message::StartView(self.start_view_message(nonce)), effects);
        }
    }

    pub(crate) fn on_start_view(&mut self, from: u8, start: &StartView, effects: &mut Effects) {
        if start.view < self.view {
            effects.dropped(Drop::OlderView);
            return;
        }
        let is_listed = start.headers.len() as u64 <= self.setup.limits.listed && is_chain(&start.headers);
        if from != self.setup.primary(start.view) || from == self.me() || !is_listed {
            effects.dropped(Drop::Foreign);
            return;
        }
        if !self.believes(start) {
            effects.dropped(Drop::Status);
            return;
        }
        let first = start.headers.first().map_or(Op::ZERO, |header| header.op);
        if first.since(self.commit_min) > self.setup.limits.backlog {
            self.ask_for_state(from, start.view, effects);
            return;
        }
        if start.headers.last().is_none_or(|last| last.op < self.commit_min) {
            // It was overtaken by a state transfer from the same view: its primary will be asked again.
            effects.dropped(Drop::Status);
            return;
        }
        if !self.agrees_with(&start.headers) {
            self.diverge(effects);
            return;
        }
        self.view = start.view;
        self.take_over(&start.headers, start.commit_max, effects);
        self.acknowledge_uncommitted(effects);
    }

    /// Whether the log in the message may replace the own one. In the view that was taken over already only an
    /// answer to this life's question may: an older one could lack what was acknowledged since.
    fn believes(&self, start: &StartView) -> bool {
        let fresh = start.nonce == self.nonce;
        match self.status {
            Status::Normal => start.view > self.view,
            Status::ViewChange => true,
            Status::Rejoining => start.view > self.view || fresh,
            Status::Blank => fresh && self.probed_view().is_some_and(|view| start.view >= view),
            Status::Diverged => false,
        }
    }

    pub(crate) fn ask_for_view(&self, of: u8, effects: &mut Effects) {
        if of != self.me() {
            let view = self.probed_view().map_or(self.view, |probed| probed.max(self.view));
            let request = RequestStartView { view, nonce: self.nonce };
            self.say(of, Message::RequestStartView(request), effects);
        }
    }

    pub(crate) fn on_request_start_view(
        &mut self,
        from: u8,
        request: &RequestStartView,
        effects: &mut Effects,
    ) {
        if !self.is_primary() {
            effects.dropped(Drop::Status);
        } else if request.view > self.view {
            // Someone may have been promised this view: the group goes there.
            self.suspect(request.view, effects);
        } else {
            self.help(from, request.nonce, effects);
        }
    }
}

fn is_well_formed(vote: &DoViewChange) -> bool {
    let in_place = |(index, entry): (usize, &SuffixEntry)| {
        entry.header.is_none_or(|header| header.op == vote.commit_min.plus(index as u64))
    };
    vote.log_view < vote.view
        && vote.suffix.first().is_some_and(|first| first.header.is_some())
        && vote.suffix.iter().enumerate().all(in_place)
}

fn is_chain(headers: &[PrepareHeader]) -> bool {
    !headers.is_empty()
        && headers
            .windows(2)
            .all(|pair| pair[1].op == pair[0].op.next() && pair[1].parent == pair[0].checksum)
}
