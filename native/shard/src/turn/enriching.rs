//! Commands whose passwords Python hashes before the log takes them.

use ng_io::Environment;
use ng_mesh::frame::Answer;
use ng_session::enrichments::Enriched;
use ng_session::log_ticket::LogCaller;
use ng_wire::table::error::ErrorCode;

use super::Shard;

impl<E: Environment> Shard<E> {
    /// Passes commands to Python, but for those that the log knows by their number: a retry gets the first
    /// answer and costs no hash.
    pub(super) fn begin_enrichments(&mut self) {
        let Some(requests) = &mut self.handler.metadata else { return };
        let mut answers = Vec::new();
        for command in requests.enrichments.take_arrived() {
            let header = command.asker.header;
            if let Some(known) = self.log.recall(header.client, command.bound.session, header.request) {
                answers.extend(requests.settle(command.asker, known, self.handler.now));
                continue;
            }
            let registry = self.handler.registry.as_mut().expect("it is where the commands are");
            if let Err(asker) = requests.enrichments.begin(command, |record| registry.push(record)) {
                let answer = asker.answer(Answer::Refused(ErrorCode::TransientNotAccepted));
                answers.push((asker.shard, answer));
            }
        }
        for (shard, answer) in answers {
            self.answer_on(shard, answer);
        }
    }

    /// Takes what Python made of a command: an error for the client, or what the log is asked for.
    pub(super) fn take_enriched(&mut self, ticket: u64, body: &[u8]) {
        let enriched = Enriched::decode(body).expect("checked at the boundary");
        let Some(requests) = &mut self.handler.metadata else { return };
        let Some(command) = requests.enrichments.redeem(ticket) else { return };
        let shard = command.asker.shard;
        if let Some(error) = enriched.error() {
            let answer = command.asker.answer(Answer::Refused(error));
            return self.answer_on(shard, answer);
        }
        match requests.take(command.asker, command.bound, command.operation, enriched.body) {
            Ok((ticket, request)) => self.handler.commands.push((LogCaller::Metadata.tag(ticket), request)),
            Err(refused) => self.answer_on(shard, refused),
        }
    }
}
