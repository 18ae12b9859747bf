//! State instead of prepares, for a replica that is too far behind: offer, fetch, install.

use ng_wire::replica::{Message, Op, PrepareHeader, TransferOffer};

use crate::client_table::ClientTable;
use crate::effect::{Drop, Effect, Effects, Record};
use crate::replica::{Replica, Status};
use crate::setup::Ticks;

/// How many resend periods a transfer may take before another offer is looked for.
const PATIENCE: Ticks = 50;

/// A state that is being fetched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transfer {
    /// When it is given up; set by the first round of repair that sees it.
    deadline: Option<Ticks>,
}

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
        } else if self.transfer.is_some() || anchor.op <= self.commit_min {
            effects.dropped(Drop::Status);
        } else {
            self.transfer = Some(Transfer { deadline: None });
            effects.push(Effect::Fetch { from, anchor });
        }
    }

    pub(crate) fn on_fetched(
        &mut self,
        anchor: PrepareHeader,
        clients: Option<Box<ClientTable>>,
        effects: &mut Effects,
    ) {
        self.transfer = None;
        // What was handed out is being executed on the state this would replace; the next offer will do.
        if self.applying > self.commit_min || anchor.op <= self.commit_min {
            effects.dropped(Drop::Status);
            return;
        }
        let after = self.journal.append(Record::Install(anchor), effects);
        self.window.install(anchor);
        self.commit_min = anchor.op;
        self.applying = anchor.op;
        self.commit_max = self.commit_max.max(anchor.op);
        if self.setup.clients.is_some() {
            self.clients = clients.map(|table| *table);
        }
        effects.push(Effect::Install { after, anchor });
        if self.status != Status::Normal {
            self.ask_for_view(self.setup.primary(self.probed_view().unwrap_or(self.view)), effects);
        }
    }

    pub(crate) fn forget_stale_transfer(&mut self, now: Ticks) {
        let patience = self.setup.timing.resend * PATIENCE;
        if let Some(transfer) = &mut self.transfer
            && *transfer.deadline.get_or_insert(now + patience) <= now
        {
            self.transfer = None;
        }
    }
}
