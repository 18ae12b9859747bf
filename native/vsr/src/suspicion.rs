//! From a silent primary to enough wishes for the next view.

use ng_wire::replica::{Message, StartViewChange, View};

use crate::effect::{Drop, Effects};
use crate::replica::{Replica, Status};
use crate::setup::Ticks;

/// Who wants to leave which view. A wish binds nobody: a primary that is heard again calms it.
#[derive(Debug, Default)]
pub(crate) struct Suspicion {
    /// The view this replica wants now.
    wish: Option<View>,
    /// The highest it ever wanted in this life.
    highest: View,
    /// The highest that each of the others wanted; empty while none wants more than there is.
    others: Vec<View>,
}

impl Suspicion {
    pub(crate) const fn wish(&self) -> Option<View> {
        self.wish
    }

    /// What a blank replica must not fall behind: its earlier life may have voted on this wish.
    pub(crate) fn highest(&self) -> View {
        self.highest
    }

    pub(crate) const fn calm(&mut self) {
        self.wish = None;
    }

    #[cfg(test)]
    pub(crate) const fn heap_bytes(&self) -> usize {
        self.others.capacity() * size_of::<View>()
    }

    fn note(&mut self, from: u8, view: View, replicas: u8) {
        self.others.resize(replicas.into(), View(0));
        let known = &mut self.others[usize::from(from)];
        *known = view.max(*known);
    }

    /// A view has begun: wishes for it, and for earlier ones, are fulfilled.
    pub(crate) fn fulfil(&mut self, begun: View) {
        self.calm();
        if self.others.iter().all(|view| *view <= begun) {
            self.others = Vec::new();
        }
    }
}

impl Replica {
    /// Wants a view, and tells the others.
    pub(crate) fn suspect(&mut self, view: View, effects: &mut Effects) {
        if matches!(self.status, Status::Blank | Status::Diverged) {
            return;
        }
        let view = self.suspicion.wish.map_or(view, |wish| wish.max(view));
        self.wish_for(view, effects);
    }

    /// The node of the primary is silent, or lives another life: that begins without leading anything.
    pub(crate) fn on_primary_silent(&mut self, effects: &mut Effects) {
        if self.awaited_primary().is_some() {
            self.suspect(self.view.next(), effects);
        }
    }

    pub(crate) fn on_not_open(&mut self, from: u8, now: Ticks, effects: &mut Effects) {
        self.absent.add(from, now + self.setup.timing.suspicion);
        if self.primary() == Some(from) {
            self.suspect(self.view.next(), effects);
        }
    }

    pub(crate) fn wish_for(&mut self, view: View, effects: &mut Effects) {
        self.suspicion.wish = Some(view);
        self.suspicion.highest = self.suspicion.highest.max(view);
        self.say_to_others(&Message::StartViewChange(StartViewChange { view, voted: self.view }), effects);
        self.vote_if_wished(effects);
    }

    pub(crate) fn on_start_view_change(&mut self, from: u8, wish: StartViewChange, effects: &mut Effects) {
        let StartViewChange { view, voted } = wish;
        if view <= self.view {
            self.help(from, 0, effects);
            return;
        }
        if self.status == Status::Blank {
            effects.dropped(Drop::Status);
            return;
        }
        self.suspicion.note(from, view, self.setup.replicas);
        // A wish is shared by those who have one. One that cannot be taken back is shared by all: of a primary
        // that gives up its own view, or of a replica that voted beyond this view.
        let binding = voted > self.view || from == self.setup.primary(self.view);
        if (binding && self.suspicion.wish.is_none()) || self.suspicion.wish.is_some_and(|wish| view > wish) {
            self.wish_for(view, effects);
        } else {
            self.vote_if_wished(effects);
            if let Some(beat) = self.beat() {
                // Nothing else may be said in this group for long, and the wish stands until the primary is heard.
                self.say(from, Message::Commit(beat), effects);
            }
        }
    }

    fn vote_if_wished(&mut self, effects: &mut Effects) {
        let Some(wish) = self.suspicion.wish else { return };
        let me = usize::from(self.me());
        let others =
            self.suspicion.others.iter().enumerate().filter(|(who, view)| *who != me && **view >= wish);
        if others.count() + 1 >= usize::from(self.quorums.view_change) && wish > self.view {
            self.enter_view_change(wish, effects);
        }
    }
}
