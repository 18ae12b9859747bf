//! Reads of streams, topics and users, answered from the rows and the figures that this shard has.

use ng_catalog::replies;
use ng_catalog::{Absence, Missing};
use ng_wire::primitive::{Malformed, put_count};
use ng_wire::request::{StreamTarget, TopicTarget, UserTarget};
use ng_wire::table::command::Command;
use ng_wire::table::error::ErrorCode;

use super::{Decision, RequestHandler};

impl RequestHandler {
    /// Answers a read of streams, topics or users.
    pub(super) fn read(&self, command: Command, body: &[u8]) -> Decision {
        match self.read_body(command, body) {
            Ok(Ok(payload)) => Decision::body(payload),
            Ok(Err(missing)) => absent(missing, command),
            Err(_) => Decision::Denied(ErrorCode::InvalidCommand),
        }
    }

    fn read_body(&self, command: Command, body: &[u8]) -> Result<Result<Vec<u8>, Missing>, Malformed> {
        let (catalog, figures) = (&self.catalog, &self.routes);
        let mut payload = Vec::new();
        let found = match command {
            Command::GetStream => catalog
                .find_stream(StreamTarget::decode(body)?.stream)
                .map(|stream| replies::put_stream(&mut payload, catalog, figures, stream)),
            Command::GetTopics => catalog
                .find_stream(StreamTarget::decode(body)?.stream)
                .map(|stream| replies::put_topics(&mut payload, catalog, figures, Some(stream))),
            Command::GetTopic => catalog
                .find_topic(TopicTarget::decode(body)?)
                .map(|topic| replies::put_topic(&mut payload, catalog, figures, topic.stream, topic.topic)),
            Command::GetUser => catalog
                .find_user(UserTarget::decode(body)?.user)
                .map(|user| replies::put_user(&mut payload, catalog, user)),
            Command::GetUsers => {
                replies::put_users(&mut payload, catalog);
                Ok(())
            }
            _ => {
                replies::put_streams(&mut payload, catalog, figures);
                Ok(())
            }
        };
        Ok(found.map(|()| payload))
    }
}

/// The answer to a command whose target is not there.
pub(super) fn absent(missing: Missing, command: Command) -> Decision {
    match missing.answer(command) {
        Absence::EmptyBody => Decision::body(Vec::new()),
        Absence::EmptyList => {
            let mut payload = Vec::new();
            put_count(&mut payload, 0);
            Decision::body(payload)
        }
        Absence::Error(error) => Decision::Denied(error),
    }
}
