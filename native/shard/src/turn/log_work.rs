//! Work of a shard for its log in a turn.

use ng_io::Environment;
use ng_mesh::forward;
use ng_mesh::frame::EndedSession;
use ng_replication::{LogAnswer, Outgoing, Ticket};
use ng_session::log_ticket::LogCaller;
use ng_session::registry::Registry;

use super::Shard;
use crate::ending::Ending;

impl<E: Environment> Shard<E> {
    /// Passes waiting requests to the log, gives it a turn, and handles its outputs.
    pub(super) fn turn_log(&mut self) -> Result<(), Ending> {
        if let Some(registry) = &mut self.handler.registry {
            for (ticket, request) in registry.log_requests() {
                self.log.request(ticket, request);
            }
        }
        for (ticket, request) in std::mem::take(&mut self.handler.commands) {
            self.log.request(ticket, request);
        }
        // After the commands of this turn, so that a retry of one of them is recognised.
        self.begin_enrichments();
        self.log.turn(&mut self.driver);
        self.tell_ready_groups();
        let outputs: Vec<Outgoing> = self.log.outgoing().collect();
        for outgoing in outputs {
            self.handle_output(outgoing)?;
        }
        let ended = self.handler.registry.as_mut().map(Registry::take_ended).unwrap_or_default();
        for (shard, ended) in ended {
            if shard == self.handler.id {
                self.end_session(&ended);
            } else {
                forward::route_session_ended(&mut self.handler.mailboxes, shard, ended);
            }
        }
        Ok(())
    }

    fn handle_output(&mut self, outgoing: Outgoing) -> Result<(), Ending> {
        match outgoing {
            Outgoing::Answer { ticket, answer } => self.log_answered(ticket, answer),
            Outgoing::Polled { ticket, answer } => match LogCaller::of(ticket) {
                Some((LogCaller::Partitions, ticket)) => self.polled(ticket, answer),
                asking => unreachable!("only requests for partitions poll, not {asking:?}"),
            },
            Outgoing::Damaged { group, offset } => self.damage_met(group, offset),
            Outgoing::Fenced { group, fences } => self.fenced(group, &fences),
            Outgoing::Evicted(client) => {
                let registry = self.handler.registry.as_mut();
                registry.expect("sessions are on the first shard").evicted(client);
            }
            Outgoing::Cut { asker, end, .. } => self.cut_ended(asker, end),
            Outgoing::Adopted { asker, end, .. } => self.adoption_ended(asker, end),
            Outgoing::Removed { group } => self.group_removed(group),
            Outgoing::RemovalFailed { group, error } => self.removal_failed(group, error),
            Outgoing::Fatal(fatal) => return Err(Ending::from(*fatal)),
            // A log with one replica sends no frames, installs no states and has no votes; and no checker
            // watches it here.
            outgoing @ (Outgoing::Frame { .. }
            | Outgoing::Installed { .. }
            | Outgoing::Undecidable { .. }
            | Outgoing::Executed { .. }) => unreachable!("the log of a single node sends {outgoing:?}"),
        }
        Ok(())
    }

    fn log_answered(&mut self, ticket: Ticket, answer: LogAnswer) {
        let now = self.handler.now;
        let addressed = match LogCaller::of(ticket) {
            Some((LogCaller::LoginsInProgress, ticket)) => {
                let passed_over = self.log.sessions_passed_over();
                let registry = self.handler.registry.as_mut();
                registry.and_then(|registry| registry.logged(Ticket(ticket), answer, passed_over))
            }
            Some((LogCaller::Metadata, ticket)) => {
                self.handler.metadata.as_mut().and_then(|commands| commands.logged(ticket, answer, now))
            }
            Some((LogCaller::Partitions, ticket)) => return self.partition_answered(ticket, &answer),
            Some((LogCaller::Purges, ticket)) => return self.purge_answered(ticket, &answer),
            None => unreachable!("the log answers a ticket without a table: {ticket:?}"),
        };
        if let Some((shard, answer)) = addressed {
            self.answer_on(shard, answer);
        }
    }

    /// Marks a session as ended; its client learns it with the next request. The connection may have another
    /// session by now.
    pub(super) fn end_session(&mut self, ended: &EndedSession) {
        if let Some(peer) = self.connections.peer_mut(ended.connection)
            && peer.bound.is_some_and(|bound| bound.session == ended.session)
        {
            peer.ended = Some(ended.reason);
        }
    }

    /// Lets the log write its last manifest. Returns true when it has stopped.
    pub(super) fn stop_log(&mut self) -> bool {
        self.log.begin_stop();
        self.log.is_stopped()
    }
}
