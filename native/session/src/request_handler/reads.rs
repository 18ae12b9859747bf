//! Reads of streams, topics and users, answered from the rows and the figures that this shard has.

use ng_catalog::replies;
use ng_catalog::{Absence, Barred, Target};
use ng_net::Peer;
use ng_wire::primitive::{Malformed, put_count};
use ng_wire::request::{StreamTarget, TopicTarget, UserTarget};
use ng_wire::table::command::Command;
use ng_wire::table::error::ErrorCode;

use super::{Decision, RequestHandler, user};

impl RequestHandler {
    /// Answers a read of streams, topics or users.
    pub(super) fn read(&self, command: Command, peer: &Peer, body: &[u8]) -> Decision {
        match self.read_body(command, peer, body) {
            Ok(Ok(payload)) => Decision::body(payload),
            Ok(Err(refusal)) => barred(refusal, command),
            Err(_) => Decision::Denied(ErrorCode::InvalidCommand),
        }
    }

    fn read_body(
        &self,
        command: Command,
        peer: &Peer,
        body: &[u8],
    ) -> Result<Result<Vec<u8>, Barred>, Malformed> {
        let (catalog, figures) = (&self.catalog, &self.routes);
        let mut payload = Vec::new();
        let found = match command {
            Command::GetStream => self
                .stream_of(command, peer, StreamTarget::decode(body)?)
                .map(|stream| replies::put_stream(&mut payload, catalog, figures, stream)),
            Command::GetTopics => self
                .stream_of(command, peer, StreamTarget::decode(body)?)
                .map(|stream| replies::put_topics(&mut payload, catalog, figures, Some(stream))),
            Command::GetTopic => self
                .topic_of(command, peer, TopicTarget::decode(body)?)
                .map(|(stream, topic)| replies::put_topic(&mut payload, catalog, figures, stream, topic)),
            Command::GetUser => catalog
                .find_user(UserTarget::decode(body)?.user)
                .map(|user| replies::put_user(&mut payload, catalog, user))
                .map_err(Barred::from),
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

    fn stream_of(&self, command: Command, peer: &Peer, target: StreamTarget<'_>) -> Result<u32, Barred> {
        let stream = self.catalog.find_stream(target.stream)?;
        self.catalog.authorize(user(peer), command, Target::Stream(stream))?;
        Ok(stream)
    }

    fn topic_of(&self, command: Command, peer: &Peer, target: TopicTarget<'_>) -> Result<(u32, u32), Barred> {
        let topic = self.catalog.find_topic(target)?;
        self.catalog.authorize(user(peer), command, Target::Topic(topic.stream, topic.topic))?;
        Ok((topic.stream, topic.topic))
    }
}

/// The answer to a command that is not performed on its target.
pub(super) fn barred(refusal: Barred, command: Command) -> Decision {
    let Barred::Missing(missing) = refusal else { return Decision::Denied(ErrorCode::Unauthorized) };
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
