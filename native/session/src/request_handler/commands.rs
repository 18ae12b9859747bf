//! Changes of streams, topics, partitions and users on their way to the log that takes them: that of the
//! metadata, after what can be judged without knowing any of them, or that of a partition.

use ng_catalog::{Barred, Target};
use ng_mesh::frame::{Ask, PartitionAsk, Place, Secret};
use ng_net::{ConnectionId, Peer};
use ng_wire::frame::RequestHeader;
use ng_wire::request::{
    ChangePassword, CreateStream, CreateTopic, CreateUser, DeleteSegments, PartitionsChange, StreamTarget,
    TopicTarget, UpdatePermissions, UpdateStream, UpdateTopic, UpdateUser, UserTarget,
};
use ng_wire::table::command::Command;
use ng_wire::table::error::ErrorCode;

use super::reads::barred;
use super::{Decision, RequestHandler, is_about_the_node, user};

/// Looks at the body of a command that the metadata's log takes; nothing if it takes no such command.
pub(super) fn check(command: Command, body: &[u8]) -> Option<Result<(), ErrorCode>> {
    let checked = match command {
        Command::CreateStream => CreateStream::decode(body).map(|body| body.check()),
        Command::UpdateStream => UpdateStream::decode(body).map(|body| body.check()),
        Command::DeleteStream | Command::PurgeStream => StreamTarget::decode(body).map(|_| Ok(())),
        Command::CreateTopic => CreateTopic::decode(body).map(|body| body.check()),
        Command::UpdateTopic => UpdateTopic::decode(body).map(|body| body.check()),
        Command::DeleteTopic | Command::PurgeTopic => TopicTarget::decode(body).map(|_| Ok(())),
        Command::CreatePartitions | Command::DeletePartitions => {
            PartitionsChange::decode(body).map(|body| body.check())
        }
        Command::CreateUser => CreateUser::decode(body).map(|body| body.check()),
        Command::UpdateUser => UpdateUser::decode(body).map(|body| body.check()),
        Command::DeleteUser => UserTarget::decode(body).map(|_| Ok(())),
        Command::UpdatePermissions => UpdatePermissions::decode(body).map(|body| body.check()),
        Command::ChangePassword => ChangePassword::decode(body).map(|body| body.check()),
        _ => return None,
    };
    Some(checked.unwrap_or(Err(ErrorCode::InvalidCommand)))
}

impl RequestHandler {
    /// Has the oldest segments of a partition deleted, by the shard that owns it.
    pub(super) fn delete_segments(
        &mut self,
        id: ConnectionId,
        peer: &Peer,
        header: &RequestHeader,
        body: &[u8],
    ) -> Decision {
        const COMMAND: Command = Command::DeleteSegments;
        let Ok(DeleteSegments { target, partition, count }) = DeleteSegments::decode(body) else {
            return Decision::Denied(ErrorCode::InvalidCommand);
        };
        let found = self.catalog.find_topic(target).map_err(Barred::from).and_then(|topic| {
            let row = self.catalog.find_partition(&topic, partition)?;
            self.catalog.authorize(user(peer), COMMAND, Target::Topic(topic.stream, topic.topic))?;
            let place = Place { stream: topic.stream, topic: topic.topic, partition, group: row.group };
            Ok((place, topic.row.durability))
        });
        match found {
            Ok((place, level)) => {
                self.ask_partition(id, header, place, PartitionAsk::DeleteSegments { count, level })
            }
            Err(refusal) => barred(refusal, COMMAND),
        }
    }

    /// The target by which a command is judged before it is performed. None for a command that is judged once
    /// its stream or topic was found, for a change of the metadata, which its log judges, and for a user who
    /// does not exist, because a missing target is reported first.
    pub(super) fn target(&self, command: Command, body: &[u8]) -> Option<Target> {
        match command {
            Command::GetUser
            | Command::UpdateUser
            | Command::DeleteUser
            | Command::UpdatePermissions
            | Command::ChangePassword => {
                let named = UserTarget::front(body).ok()?;
                self.catalog.find_user(named.user).ok().map(Target::User)
            }
            command => is_about_the_node(command).then_some(Target::Node),
        }
    }

    /// Sends a command that was looked at to the metadata's log, by way of Python if it brings a password.
    pub(super) fn order(
        &mut self,
        id: ConnectionId,
        peer: &Peer,
        header: &RequestHeader,
        command: Command,
        body: &[u8],
    ) -> Decision {
        let Some(bound) = peer.bound else { return Decision::Denied(ErrorCode::Unauthenticated) };
        let operation = command.row().operation;
        let ask = match command {
            Command::CreateUser | Command::ChangePassword => {
                Ask::Enrich { operation, bound, body: Secret(body.into()) }
            }
            _ => Ask::Metadata { operation, bound, body: body.into() },
        };
        self.ask(id, peer, header, ask)
    }
}
