//! State instead of prepares, for a replica that is too far behind: offer, fetch, install.

use ng_wire::replica::{Message, Op, PrepareHeader, TransferOffer};

use crate::client_table::ClientTable;
use crate::effect::{Drop, Effect, Effects, Record};
use crate::replica::{Replica, Status};

impl Replica {
    /// Offers the state as of what was executed here, if that helps.
    pub(crate) fn offer_state(&self, to: u8, first: Op, effects: &mut Effects) {
        let Some(anchor) = self.anchor().filter(|anchor| anchor.op >= first) else { return };
        let offer = TransferOffer { view: self.view, commit_max: self.commit_max, anchor };
        self.say(to, Message::TransferOffer(offer), effects);
    }

    pub(crate) fn on_transfer_offer(&mut self, from: u8, offer: &TransferOffer, effects: &mut Effects) {
        let anchor = offer.anchor;
        if anchor.group != self.setup.group || anchor.epoch != self.setup.epoch {
            effects.dropped(Drop::Foreign);
        } else if self.fetching.is_some() || anchor.op <= self.commit_min || self.passes_over(from) {
            effects.dropped(Drop::Status);
        } else {
            self.fetching = Some(from);
            effects.push(Effect::Fetch { from, anchor });
        }
    }

    /// Whether a replica's state did not come the last time it was tried; the next time it counts again.
    pub(crate) fn passes_over(&mut self, source: u8) -> bool {
        self.passed_over.take_if(|passed| *passed == source).is_some()
    }

    pub(crate) fn on_fetched(
        &mut self,
        anchor: PrepareHeader,
        clients: Option<Box<ClientTable>>,
        effects: &mut Effects,
    ) {
        self.fetching = None;
        if anchor.op <= self.commit_min {
            effects.dropped(Drop::Status);
            return;
        }
        let after = self.journal.append(Record::Install(anchor), effects);
        self.window.install(anchor);
        self.commit_min = anchor.op;
        self.applying = anchor.op;
        self.commit_max = self.commit_max.max(anchor.op);
        if self.setup.clients.is_some() {
            self.clients = clients;
        }
        effects.push(Effect::Install { after, anchor });
        if self.status == Status::Normal {
            // What came behind the state while it was on its way, and what others acknowledged of that: neither comes again.
            if self.is_primary() {
                self.commit_acknowledged();
            }
            self.repair(effects);
        } else {
            self.ask_for_view(self.setup.primary(self.probed_view().unwrap_or(self.view)), effects);
        }
    }
}
