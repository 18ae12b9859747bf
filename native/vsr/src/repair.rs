//! Getting what this replica lacks, while the view goes on.

use ng_wire::replica::{Message, Op, Prepare, RequestPrepares, View};

use crate::effect::{Drop, Effects};
use crate::replica::{Replica, Status};

/// After so many rounds of repair that got nothing, it is asked from the other end for as many: nobody else may have the oldest
/// place, and what stands here aside for it be the only copy. What is behind proves that, link by link.
const TURN: u32 = 4;

/// Rounds of repair after which a primary gives up a view whose log it cannot get.
const PATIENCE: u32 = 20;

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
        let unlinked = self.window.last_unknown().filter(|_| self.fruitless / TURN % 2 == 1);
        self.repair_from(unlinked, effects);
    }

    fn repair_from(&mut self, unlinked: Option<Op>, effects: &mut Effects) {
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
        if self.fetching.is_some() {
            return;
        }
        let (first, last) = unlinked.map_or_else(|| self.oldest_lacking(), |op| (op, op));
        if last < first {
            return;
        }
        self.asked_through = Some(last);
        let request = Message::RequestPrepares(RequestPrepares { view: self.view, first, last });
        let primary = self.setup.primary(self.view);
        if primary != self.me() {
            self.say(primary, request.clone(), effects);
        }
        self.repair_turn = (self.repair_turn + 1) % self.setup.replicas;
        if self.repair_turn != self.me() && self.repair_turn != primary {
            self.say(self.repair_turn, request, effects);
        }
    }

    fn oldest_lacking(&self) -> (Op, Op) {
        let hole = self.window.after(self.commit_min).find(|(_, slot)| !slot.is_present());
        let first = hole.map_or_else(|| self.window.head().next(), |(op, _)| op);
        let head = self.wanted_head().max(self.window.head());
        (first, head.min(first.plus(self.setup.limits.repair - 1)))
    }

    /// A place was filled. If it was the last that was asked for, the next ones are asked for at once.
    pub(crate) fn repaired(&mut self, op: Op, effects: &mut Effects) {
        if self.asked_through.take_if(|last| *last == op).is_some() && self.lacks_something() {
            self.fruitless = 0;
            // Where nothing is known in front of it, it was asked for from the other end.
            let before = self.window.last_unknown().filter(|unknown| *unknown == op.previous());
            self.repair_from(before, effects);
        }
    }

    /// Asks for everything behind what was executed here; too much for prepares, so an offer will come.
    pub(crate) fn ask_for_state(&mut self, of: u8, view: View, effects: &mut Effects) {
        if self.fetching.is_some() {
            return;
        }
        let of = if self.passes_over(of) { self.another(of) } else { of };
        let first = self.commit_min.next();
        self.say(of, Message::RequestPrepares(RequestPrepares { view, first, last: first }), effects);
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
