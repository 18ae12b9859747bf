//! Requests for partitions on their way to the shards that own them.

use ng_catalog::{Barred, Missing, Target};
use ng_mesh::frame::{Answer, ClientAnswer, ClientFrame, PartitionAsk, PartitionRequest, Place, ShardFrame};
use ng_net::{ConnectionId, Connections, FrameBody, Kept, Peer};
use ng_replication::{Consumer, Poll, PollStrategy};
use ng_wire::frame::{HEADER_BYTES, RequestHeader};
use ng_wire::replica::Level;
use ng_wire::request::{
    self, Ack, DeleteOffset, OffsetTarget, PollMessages, PollingStrategy, SendMessages, StoreOffset,
    TopicTarget,
};
use ng_wire::table::command::Command;
use ng_wire::table::error::ErrorCode;
use ng_wire::table::frame_drop::{DropReason, FrameVariant};

use super::reads::barred;
use super::{Decision, RequestHandler, WaitingPoll, user};

/// A frame with messages that is shorter is copied out of its memory: kept with that, it would hold more than
/// it is worth.
const KEPT_FRAME_BYTES_MIN: u32 = 32 * 1024;

/// Which part of a frame with messages is kept: the batch.
pub(super) fn kept(header: &RequestHeader, received: &[u8]) -> Kept {
    if header.size < KEPT_FRAME_BYTES_MIN {
        return Kept::Nothing;
    }
    let start = received.get(HEADER_BYTES..).and_then(SendMessages::batch_start);
    start.map_or(Kept::Unknown, |start| Kept::From(HEADER_BYTES + start))
}

/// What became of a poll that waited.
#[derive(Debug)]
pub enum Resumed {
    /// It is under way, or its client is gone.
    Begun,
    /// It cannot be served.
    Answered(ClientAnswer),
}

impl RequestHandler {
    /// Sends a batch to the log of its partition.
    pub(super) fn send(
        &mut self,
        id: ConnectionId,
        peer: &mut Peer,
        header: &RequestHeader,
        body: FrameBody<'_>,
    ) -> Decision {
        let Ok(messages) = SendMessages::decode(body.bytes()) else {
            return Decision::Denied(ErrorCode::InvalidCommand);
        };
        if let Err(error) = messages.check() {
            return Decision::Denied(error);
        }
        if let Some(asked) = &mut peer.asked {
            (asked.messages, asked.bytes) = (messages.messages, messages.batch.len() as u64);
        }
        match self.place_of_batch(peer, &messages) {
            Ok((place, level)) => {
                let start = messages.batch_start;
                let ask = PartitionAsk::Send { batch: body.keep(start), level };
                self.ask_partition(id, header, place, ask)
            }
            Err(refusal) => barred(refusal, Command::SendMessages),
        }
    }

    /// Where a batch goes, before anything of it is hashed.
    fn place_of_batch(&mut self, peer: &Peer, messages: &SendMessages<'_>) -> Result<(Place, Level), Barred> {
        let topic = self.catalog.find_topic(messages.target)?;
        let target = Target::Topic(topic.stream, topic.topic);
        self.catalog.authorize(user(peer), Command::SendMessages, target)?;
        let turn = self.balance.entry((topic.stream, topic.topic)).or_default();
        let (partition, row) = self.catalog.choose_partition(&topic, messages.partitioning, turn)?;
        let place = Place { stream: topic.stream, topic: topic.topic, partition, group: row.group };
        Ok((place, topic.row.durability))
    }

    /// Asks a partition for messages. A consumer that names no partition means the first.
    pub(super) fn poll(
        &mut self,
        id: ConnectionId,
        peer: &mut Peer,
        header: &RequestHeader,
        body: &[u8],
    ) -> Decision {
        const COMMAND: Command = Command::PollMessages;
        let Ok(poll) = PollMessages::decode(body) else {
            return Decision::Denied(ErrorCode::InvalidCommand);
        };
        let (place, _) = match self.place(peer, COMMAND, poll.target, poll.partition.unwrap_or(0)) {
            Ok(found) => found,
            Err(refusal) => return barred(refusal, COMMAND),
        };
        let Some(consumer) = consumer(&poll.consumer) else { return no_group(COMMAND) };
        let poll = Poll {
            group: place.group,
            consumer,
            strategy: strategy(poll.strategy),
            count: poll.count,
            reply_bytes_max: 0,
            auto_commit: poll.auto_commit,
        };
        let waiting = WaitingPoll { connection: id, header: *header, place, poll, since: self.now };
        match self.replies.promise(peer) {
            Some(bytes) => self.begin_poll(&waiting, bytes),
            None if self.waiting_polls.join(waiting, peer.is_proven) => Decision::Waiting,
            None => Decision::Denied(ErrorCode::TransientNotAccepted),
        }
    }

    /// Asks the partition, now that the reply may have so many bytes.
    fn begin_poll(&mut self, waiting: &WaitingPoll, bytes: usize) -> Decision {
        let WaitingPoll { connection, header, place, poll, .. } = *waiting;
        let ask = PartitionAsk::Poll(Poll { reply_bytes_max: bytes, ..poll });
        self.ask_partition(connection, &header, place, ask)
    }

    /// Begins the first poll that waits among the clients that are known to read, or among the others, if its
    /// reply can be promised memory.
    pub fn resume_poll(&mut self, is_proven: bool, connections: &mut Connections) -> Option<Resumed> {
        let mut promised = None;
        let replies = &mut self.replies;
        let waiting = self.waiting_polls.take_if(is_proven, |waiting| {
            match connections.peer_mut(waiting.connection) {
                Some(peer) => {
                    promised = replies.promise(peer);
                    promised.is_some()
                }
                None => true,
            }
        })?;
        let Some(bytes) = promised else { return Some(Resumed::Begun) };
        let (connection, header) = (waiting.connection, waiting.header);
        Some(match self.begin_poll(&waiting, bytes) {
            Decision::Denied(error) => {
                Resumed::Answered(ClientAnswer { connection, header, answer: Answer::Denied(error) })
            }
            Decision::Waiting | Decision::Answered(_) => Resumed::Begun,
        })
    }

    /// The answer to a poll that has waited for too long.
    pub fn give_up_poll(&mut self, stopping: bool) -> Option<ClientAnswer> {
        let WaitingPoll { connection, header, .. } = self.waiting_polls.take_overdue(self.now, stopping)?;
        Some(ClientAnswer { connection, header, answer: Answer::Denied(ErrorCode::TransientNotAccepted) })
    }

    /// Asks up to where a consumer has come. One that names no partition means the first.
    pub(super) fn stored_offset(
        &mut self,
        id: ConnectionId,
        peer: &Peer,
        header: &RequestHeader,
        body: &[u8],
    ) -> Decision {
        const COMMAND: Command = Command::GetConsumerOffset;
        let Ok(target) = OffsetTarget::decode(body) else {
            return Decision::Denied(ErrorCode::InvalidCommand);
        };
        match self.place(peer, COMMAND, target.target, target.partition.unwrap_or(0)) {
            Ok((place, _)) => match consumer(&target.consumer) {
                Some(consumer) => self.ask_partition(id, header, place, PartitionAsk::StoredOffset(consumer)),
                None => no_group(COMMAND),
            },
            Err(refusal) => barred(refusal, COMMAND),
        }
    }

    /// Has an offset kept for a consumer.
    pub(super) fn store_offset(
        &mut self,
        id: ConnectionId,
        peer: &Peer,
        header: &RequestHeader,
        body: &[u8],
    ) -> Decision {
        match StoreOffset::decode(body) {
            Ok(StoreOffset { place, offset, ack }) => {
                let command = Command::StoreConsumerOffset;
                self.write_offset(id, peer, header, command, (&place, Some(offset), ack))
            }
            Err(_) => Decision::Denied(ErrorCode::InvalidCommand),
        }
    }

    /// Has the offset of a consumer forgotten.
    pub(super) fn delete_offset(
        &mut self,
        id: ConnectionId,
        peer: &Peer,
        header: &RequestHeader,
        body: &[u8],
    ) -> Decision {
        match DeleteOffset::decode(body) {
            Ok(DeleteOffset { place, ack }) => {
                self.write_offset(id, peer, header, Command::DeleteConsumerOffset, (&place, None, ack))
            }
            Err(_) => Decision::Denied(ErrorCode::InvalidCommand),
        }
    }

    fn write_offset(
        &mut self,
        id: ConnectionId,
        peer: &Peer,
        header: &RequestHeader,
        command: Command,
        (target, offset, ack): (&OffsetTarget<'_>, Option<u64>, Ack),
    ) -> Decision {
        let found = target.partition.ok_or(Barred::Missing(Missing::Partition));
        let found = found.and_then(|partition| self.place(peer, command, target.target, partition));
        let (place, durability) = match found {
            Ok(found) => found,
            Err(refusal) => return barred(refusal, command),
        };
        let Some(consumer) = consumer(&target.consumer) else { return no_group(command) };
        if offset == Some(u64::MAX) {
            // No message has it, and in the log it stands for none.
            return Decision::Denied(ErrorCode::InvalidOffset);
        }
        let level = (ack == Ack::Quorum).then_some(durability);
        self.ask_partition(id, header, place, PartitionAsk::WriteOffset { consumer, offset, level })
    }

    /// A partition that a request names, and what its consumers were promised of their offsets.
    fn place(
        &self,
        peer: &Peer,
        command: Command,
        target: TopicTarget<'_>,
        partition: u32,
    ) -> Result<(Place, Level), Barred> {
        let topic = self.catalog.find_topic(target)?;
        let row = self.catalog.find_partition(&topic, partition)?;
        self.catalog.authorize(user(peer), command, Target::Topic(topic.stream, topic.topic))?;
        let place = Place { stream: topic.stream, topic: topic.topic, partition, group: row.group };
        Ok((place, topic.row.consumer_offset_durability))
    }

    /// Asks the shard that owns a partition; here or through its mailbox. A partition that is not open yet,
    /// or is being removed, takes nothing now.
    pub(super) fn ask_partition(
        &mut self,
        connection: ConnectionId,
        header: &RequestHeader,
        place: Place,
        ask: PartitionAsk,
    ) -> Decision {
        let Some(owner) = self.routes.of(place.group).map(|route| route.owner) else {
            return Decision::Denied(ErrorCode::TransientNotAccepted);
        };
        let request = Box::new(PartitionRequest { shard: self.id, connection, header: *header, place, ask });
        if owner == self.id {
            self.own_partitions.push(request);
            return Decision::Waiting;
        }
        match self.mailboxes.try_send(owner, ShardFrame::Client(ClientFrame::Partition(request))) {
            Ok(()) => Decision::Waiting,
            Err(_) => {
                self.count_drop(FrameVariant::PartitionRequest, DropReason::Full);
                Decision::Denied(ErrorCode::TransientNotAccepted)
            }
        }
    }
}

/// Under what a consumer's offsets are kept; nothing for a member of a group, of which there are none yet.
fn consumer(consumer: &request::Consumer<'_>) -> Option<Consumer> {
    Some((consumer.kind, consumer.number()?))
}

/// What is told of a consumer group that is not there.
fn no_group(command: Command) -> Decision {
    match command {
        Command::GetConsumerOffset => Decision::body(Vec::new()),
        Command::PollMessages => Decision::Denied(ErrorCode::ConsumerGroupIdNotFound),
        _ => Decision::Denied(ErrorCode::ResourceNotFound),
    }
}

const fn strategy(strategy: PollingStrategy) -> PollStrategy {
    match strategy {
        PollingStrategy::Offset(offset) => PollStrategy::Offset(offset),
        PollingStrategy::Timestamp(timestamp) => PollStrategy::Timestamp(timestamp),
        PollingStrategy::First => PollStrategy::First,
        PollingStrategy::Last => PollStrategy::Last,
        PollingStrategy::Next => PollStrategy::Next,
    }
}
