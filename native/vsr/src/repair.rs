//! Getting what this replica lacks, while the view goes on.

use ng_wire::replica::{Message, Op, Prepare, RequestPrepares, View};

use crate::effect::{Drop, Effects};
use crate::replica::{Replica, Status};
use crate::setup::Limits;

/// After so many rounds of repair that got nothing, it is asked from the other end for as many: nobody else may have the oldest
/// place, and what stands here aside for it be the only copy. What is behind proves that, link by link.
const TURN: u32 = 4;

/// Rounds of repair after which a primary gives up a view whose log it cannot get.
const PATIENCE: u32 = 20;

/// What a replica asked for last of the places that lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Nothing, or it came.
    Nothing,
    /// Places up to this one: once that is here, the next ones are asked for.
    Through(Op),
    /// This place alone: once it is here, the one before it is asked for if nothing is known of that.
    Backwards(Op),
    /// All that may be prepared here was asked for. This replica is asked for more once operations were executed.
    Full(u8),
}

impl Replica {
    /// Whether a place up to the known end of the log is not here.
    pub(crate) fn lacks_something(&self) -> bool {
        self.status == Status::Normal
            && (self.window.missing() > 0 || self.window.head() < self.wanted_head())
    }

    /// A stored body is gone: an executed operation is no longer served from here, another one is repaired.
    pub(crate) fn on_unreadable(&mut self, op: Op, checksum: u128) {
        if op <= self.commit_min {
            self.window.release(op);
        } else {
            self.window.damage(op, checksum);
        }
    }

    fn wanted_head(&self) -> Op {
        self.known_head.max(self.commit_max)
    }

    /// Asks for the oldest places that lack, or for the last one that nothing is known of: the primary, and one of the others
    /// in turn.
    pub(crate) fn repair(&mut self, effects: &mut Effects) {
        self.asked = Asked::Nothing;
        if !self.lacks_something() {
            self.fruitless = 0;
            return;
        }
        self.fruitless += 1;
        if self.is_primary() && self.fruitless > PATIENCE {
            // Perhaps nobody has it and it was never committed: only a view change can tell.
            self.fruitless = 0;
            self.suspect(self.view.next(), effects);
        }
        let unlinked = self.window.last_unknown().filter(|_| self.fruitless / TURN % 2 == 1);
        let Some((first, last)) = unlinked.map(|op| (op, op)).or_else(|| self.lacking_after(self.commit_min))
        else {
            return;
        };
        self.asked = if unlinked.is_some() { Asked::Backwards(last) } else { Asked::Through(last) };
        let primary = self.setup.primary(self.view);
        self.ask(primary, first, last, effects);
        self.repair_turn = (self.repair_turn + 1) % self.setup.replicas;
        if self.repair_turn != primary {
            self.ask(self.repair_turn, first, last, effects);
        }
    }

    /// Asks the primary for the oldest places that lack, whatever it was asked for before: that may be what found no room.
    pub(crate) fn repair_from_primary(&mut self, effects: &mut Effects) {
        if self.lacks_something() && !self.is_primary() {
            self.go_on(self.setup.primary(self.view), self.commit_min, effects);
        }
    }

    fn ask(&self, of: u8, first: Op, last: Op, effects: &mut Effects) {
        if of != self.me() && self.fetching.is_none() {
            let request = RequestPrepares { view: self.view, first, last };
            self.say(of, Message::RequestPrepares(request), effects);
        }
    }

    /// The next places that lack after `from`, as many as are asked for at once and may be prepared here.
    fn lacking_after(&self, from: Op) -> Option<(Op, Op)> {
        let (first, end) = self.window.lacking_after(from);
        let limits = self.setup.limits;
        let last = end
            .unwrap_or_else(|| self.wanted_head().max(self.window.head()))
            .min(first.plus(limits.repair - 1))
            .min(self.commit_min.plus(limits.backlog));
        (first <= last).then_some((first, last))
    }

    /// A place was filled. If it was the last that was asked for, its sender is asked for the next ones at once: a replica
    /// that lags gets one round of places per round trip, from the first replica that answers. Places that this leaves out,
    /// because their prepares were lost or overtaken, are asked for again when the timer is due.
    pub(crate) fn repaired(&mut self, from: u8, op: Op, effects: &mut Effects) {
        let asked = self.asked;
        if !matches!(asked, Asked::Through(last) | Asked::Backwards(last) if last == op) {
            return;
        }
        self.asked = Asked::Nothing;
        if !self.lacks_something() {
            return;
        }
        self.fruitless = 0;
        let before = self.window.last_unknown().filter(|unknown| *unknown == op.previous());
        if let (Asked::Backwards(_), Some(before)) = (asked, before) {
            self.asked = Asked::Backwards(before);
            self.ask(from, before, before, effects);
            return;
        }
        let behind = if matches!(asked, Asked::Through(_)) { op } else { self.commit_min };
        self.go_on(from, behind, effects);
    }

    fn go_on(&mut self, of: u8, behind: Op, effects: &mut Effects) {
        match self.lacking_after(behind) {
            Some((first, last)) => {
                self.asked = Asked::Through(last);
                self.ask(of, first, last, effects);
            }
            None if self.window.head() < self.wanted_head() => self.asked = Asked::Full(of),
            None => {}
        }
    }

    /// Operations were executed: where repair had filled all that may be prepared here, it goes on.
    pub(crate) fn resume_repair(&mut self, effects: &mut Effects) {
        let Asked::Full(of) = self.asked else { return };
        let head = self.window.head();
        let room = self.commit_min.plus(self.setup.limits.backlog).since(head);
        let Limits { repair, backlog, .. } = self.setup.limits;
        let wanted = self.wanted_head().since(head).min(repair).min(backlog);
        if room >= wanted {
            self.asked = Asked::Nothing;
            self.go_on(of, head, effects);
        }
    }

    /// Asks for a state, because too much lacks here for prepares.
    pub(crate) fn ask_for_state(&mut self, of: u8, view: View, effects: &mut Effects) {
        if self.fetching.is_some() {
            return;
        }
        let of = if self.passes_over(of) { self.another(of) } else { of };
        // No log holds this place. A place that the other one still holds would be answered with its prepare.
        let (first, last) = (Op::ZERO, Op::ZERO);
        self.say(of, Message::RequestPrepares(RequestPrepares { view, first, last }), effects);
    }

    /// The next replica in turn that is neither this one nor that.
    fn another(&mut self, than: u8) -> u8 {
        let replicas = self.setup.replicas;
        let after = self.repair_turn;
        let turn = (1..=replicas).map(|step| (after + step) % replicas);
        let found = turn.into_iter().find(|who| *who != self.me() && *who != than);
        self.repair_turn = found.unwrap_or(after);
        found.unwrap_or(than)
    }

    pub(crate) fn on_request_prepares(&self, from: u8, request: &RequestPrepares, effects: &mut Effects) {
        if self.status != Status::Normal {
            effects.dropped(Drop::Status);
            return;
        }
        if request.view != self.view || request.first <= self.window.base() {
            self.offer_state(from, request.first, effects);
            return;
        }
        let span = request.last.next().since(request.first).min(self.setup.limits.repair);
        for op in (0..span).map(|step| request.first.plus(step)) {
            if let Some(header) = self.window.stored(op).copied() {
                let prepare = Prepare { view: self.view, commit_max: self.commit_max, header };
                self.say(from, Message::Prepare(prepare), effects);
            }
        }
    }
}
