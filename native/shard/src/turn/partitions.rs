//! A shard as the owner of partitions: serves requests for them from connections of all shards.

use ng_catalog::replies::PartitionFigures;
use ng_control::reconcile_order::{ReconcileAnswers, ReconcileOp};
use ng_control::shard_id::ShardId;
use ng_io::Environment;
use ng_mesh::frame::{Answer, ClientAnswer, PartitionAsk, PartitionRequest, Place};
use ng_mesh::routes::Route;
use ng_replication::{Consumer, LogAnswer, LogRequest, PollRefusal, Polled, Ticket};
use ng_session::log_ticket::LogCaller;
use ng_session::tickets::Tickets;
use ng_storage::segments_file::Fence;
use ng_wire::replica::{
    LogOperation, OffsetRefusal, OffsetWrite, PartitionReply, RefusedOffset, Rejection, offsets_body,
};
use ng_wire::reply::{self, Confirmation};
use ng_wire::table::error::ErrorCode;
use ng_wire::table::event::Event;
use ng_wire::table::metric::{Cell, Metric};
use ng_wire::table::operation::Operation;
use ng_wire::table::reconcile::{ReconcileKind, ReconcileOutcome};

use super::Shard;
use super::damaged::Damaged;

/// Client id of the control plane. It is not zero, because operations of client zero get no answer.
const CONTROL_PLANE: u128 = u128::MAX;

/// Maximum client requests that wait for the logs of one shard.
const WAITING_MAX: usize = 1 << 16;

/// Maximum purges that wait for the logs of one shard. The control plane repeats the others.
const PURGES_MAX: usize = 256;

/// Requests that wait for the logs of this shard.
#[derive(Debug)]
pub(super) struct Owned {
    waiting: Tickets<Waiting>,
    purges: Tickets<(u64, u64)>,
    damaged: Damaged,
}

impl Owned {
    /// Number of waiting client requests.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.count()
    }

    /// Number of damaged partitions, and of damaged ranges of offsets.
    pub(super) fn damaged(&self) -> (usize, usize) {
        (self.damaged.partitions(), self.damaged.ranges())
    }

    /// All messages of a partition were deleted, and its damage with them.
    pub(super) fn emptied(&mut self, group: u64) {
        self.damaged.forget(group);
    }
}

/// A connection that waits for the log of a partition.
#[derive(Debug)]
struct Waiting {
    shard: ShardId,
    answer: Unanswered,
    place: Place,
}

/// An answer without its content.
#[derive(Debug)]
struct Unanswered {
    connection: ng_net::ConnectionId,
    header: ng_wire::frame::RequestHeader,
    /// It drops an offset that counted as stored when it was asked.
    drops_offset: bool,
}

impl Unanswered {
    fn with(self, answer: Answer) -> ClientAnswer {
        ClientAnswer { connection: self.connection, header: self.header, answer }
    }
}

impl Default for Owned {
    fn default() -> Self {
        Self {
            waiting: Tickets::new(WAITING_MAX),
            purges: Tickets::new(PURGES_MAX),
            damaged: Damaged::default(),
        }
    }
}

impl<E: Environment> Shard<E> {
    /// Serves requests of this shard's connections for its own partitions.
    pub(super) fn serve_own_partitions(&mut self) {
        for request in std::mem::take(&mut self.handler.own_partitions) {
            self.serve_partition(*request);
        }
    }

    /// Passes a request to the log of a partition.
    pub(super) fn serve_partition(&mut self, request: PartitionRequest) {
        let PartitionRequest { shard, connection, header, place, ask } = request;
        let client = header.client;
        let mut unanswered = Unanswered { connection, header, drops_offset: false };
        let (operation, level, body) = match ask {
            PartitionAsk::Send { batch, level } => {
                self.log.set_partition_index(place.group, place.partition);
                (LogOperation::Batch, level, batch)
            }
            PartitionAsk::WriteOffset { consumer, offset, level: Some(level) } => {
                let drops = offset.is_none() && self.log.stored_offset(place.group, consumer).is_some();
                unanswered.drops_offset = drops;
                (LogOperation::Offsets, level, offsets_body(&[write(consumer, offset)]).into())
            }
            PartitionAsk::WriteOffset { consumer, offset, level: None } => {
                let stored = self.log.store_ahead(place.group, consumer, offset);
                return self.answer_on(shard, unanswered.with(stored_ahead(stored)));
            }
            PartitionAsk::DeleteSegments { count, level } => {
                if let Some(ticket) = self.wait(shard, unanswered, place) {
                    self.log.delete_segments(ticket, place.group, client, count, level);
                }
                return;
            }
            PartitionAsk::StoredOffset(consumer) => {
                let answer = self.stored_offset(place, consumer);
                return self.answer_on(shard, unanswered.with(answer));
            }
            PartitionAsk::Poll(poll) => {
                if let Some(ticket) = self.wait(shard, unanswered, place) {
                    self.log.poll(ticket, poll);
                }
                return;
            }
        };
        let Some(ticket) = self.wait(shard, unanswered, place) else { return };
        let group = place.group;
        let request = LogRequest { group, client, session: 0, request: 0, operation, level, body };
        self.log.request(ticket, request);
    }

    /// Registers a waiting request. If the table is full, it refuses the request.
    fn wait(&mut self, shard: ShardId, answer: Unanswered, place: Place) -> Option<Ticket> {
        match self.owned.waiting.file(Waiting { shard, answer, place }) {
            Ok(ticket) => Some(LogCaller::Partitions.tag(ticket)),
            Err(Waiting { shard, answer, .. }) => {
                self.answer_on(shard, answer.with(Answer::Denied(ErrorCode::TransientNotAccepted)));
                None
            }
        }
    }

    fn stored_offset(&self, place: Place, consumer: Consumer) -> Answer {
        let Some(state) = self.log.partition(place.group) else {
            return Answer::Denied(ErrorCode::TransientNotAccepted);
        };
        let mut body = Vec::new();
        if let Some(stored_offset) = self.log.stored_offset(place.group, consumer) {
            let current_offset = state.last_offset.unwrap_or(0);
            reply::StoredOffset { partition_id: place.partition, current_offset, stored_offset }
                .put(&mut body);
        }
        Answer::Body(body)
    }

    /// Sends the answer to a poll.
    pub(super) fn polled(&mut self, ticket: u64, answer: Result<Polled, PollRefusal>) {
        let Some(Waiting { shard, answer: unanswered, place }) = self.owned.waiting.redeem(ticket) else {
            return;
        };
        let answer = match answer {
            Ok(polled) => Answer::Polled { partition: place.partition, polled: Box::new(polled) },
            Err(refusal) => {
                if refusal.is_damage() {
                    self.handler.metrics.add(const { Cell::of(Metric::DamagedPolls) }, 1);
                }
                Answer::Denied(refusal.status())
            }
        };
        self.answer_on(shard, unanswered.with(answer));
    }

    /// A poll found damage. New damage becomes an event, because the control plane knows the partition's
    /// names.
    pub(super) fn damage_met(&mut self, group: u64, offset: u64) {
        if self.owned.damaged.met(group, offset) {
            self.handler.tell(Event::MessagesDamaged, [group, offset]);
        }
    }

    /// Takes the lost ranges of a partition. New ones become an event; the control plane then reads the
    /// ranges.
    pub(super) fn fenced(&mut self, group: u64, fences: &[Fence]) {
        let first = fences.first().map(|fence| fence.first_offset);
        if self.owned.damaged.fence(group, fences)
            && let Some(offset) = first
        {
            self.handler.tell(Event::MessagesFenced, [group, offset]);
        }
    }

    /// Sends the log's answer to a client request.
    pub(super) fn partition_answered(&mut self, ticket: u64, answer: &LogAnswer) {
        let Some(Waiting { shard, answer: unanswered, place }) = self.owned.waiting.redeem(ticket) else {
            return;
        };
        if *answer == LogAnswer::Busy && unanswered.header.operation == Operation::SendMessages.code() {
            self.send_refused();
        }
        let answer = match answer {
            LogAnswer::Done { reply, .. } => done(&unanswered, place, reply),
            other => Answer::Denied(refusal(other)),
        };
        self.answer_on(shard, unanswered.with(answer));
    }

    /// Proposes a purge. Returns the outcome if it is already known.
    pub(super) fn ask_for_purge(&mut self, pass: u64, order: ReconcileOp) -> Option<ReconcileOutcome> {
        let ReconcileOp { group, purge_generation, .. } = order;
        let Some(state) = self.log.partition(group) else { return Some(ReconcileOutcome::UnknownGroup) };
        if state.purge_generation >= purge_generation {
            return Some(ReconcileOutcome::Done);
        }
        let Ok(ticket) = self.owned.purges.file((pass, group)) else { return Some(ReconcileOutcome::Busy) };
        let request = LogRequest {
            group,
            client: CONTROL_PLANE,
            session: 0,
            request: 0,
            operation: LogOperation::Purge,
            level: ng_wire::replica::Level::Persisted,
            body: purge_generation.to_le_bytes().to_vec().into(),
        };
        self.log.request(LogCaller::Purges.tag(ticket), request);
        None
    }

    /// Takes the log's answer to a purge.
    pub(super) fn purge_answered(&mut self, ticket: u64, answer: &LogAnswer) {
        let Some((pass, group)) = self.owned.purges.redeem(ticket) else { return };
        let outcome = match answer {
            LogAnswer::Done { reply, .. } => match PartitionReply::decode(reply) {
                // The partition was already purged to this generation.
                Ok(PartitionReply::Done { .. } | PartitionReply::Rejected(Rejection::StaleGeneration)) => {
                    ReconcileOutcome::Done
                }
                _ => ReconcileOutcome::Failed,
            },
            LogAnswer::NoGroup => ReconcileOutcome::UnknownGroup,
            _ => ReconcileOutcome::Busy,
        };
        if outcome == ReconcileOutcome::Done {
            self.owned.emptied(group);
        }
        let mut answers = ReconcileAnswers::default();
        answers.add(ReconcileKind::Purge, group, outcome);
        self.report(pass, answers);
    }

    /// Publishes the figures of a partition to every shard.
    pub(super) fn publish_figures(&self, group: u64, figures: ng_replication::PartitionFigures) {
        if let Some(route) = self.handler.routes.of(group).filter(|route| route.owner == self.handler.id) {
            let figures = PartitionFigures {
                segments: u32::try_from(figures.segments).unwrap_or(u32::MAX),
                current_offset: figures.current_offset,
                size_bytes: figures.bytes,
                messages: figures.messages,
            };
            self.publish_on(route, figures);
        }
    }

    /// Publishes the figures, and updates the totals of this shard.
    pub(super) fn publish_on(&self, route: &Route, figures: PartitionFigures) {
        if let Some(totals) = self.handler.totals.get(self.handler.id.index()) {
            totals.moved(route.figures.read(), figures);
        }
        route.figures.publish(figures);
    }

    /// Refuses a request that reached a shard which does not own the partition, so that the client need not
    /// wait.
    pub(super) fn return_partition_request(&mut self, request: &PartitionRequest) {
        let answer = Answer::Denied(ErrorCode::TransientNotAccepted);
        let (connection, header) = (request.connection, request.header);
        self.answer_on(request.shard, ClientAnswer { connection, header, answer });
    }
}

/// The client's answer to an executed operation.
fn done(unanswered: &Unanswered, place: Place, reply: &[u8]) -> Answer {
    let operation = unanswered.header.operation;
    match PartitionReply::decode(reply) {
        Ok(PartitionReply::Done { value, .. }) if operation == Operation::SendMessages.code() => {
            let Place { stream: stream_id, topic: topic_id, partition: partition_id, .. } = place;
            let confirmation = Confirmation { stream_id, topic_id, partition_id, base_offset: value };
            let mut body = Vec::new();
            reply::put_confirmations(&mut body, &[confirmation]);
            Answer::Body(body)
        }
        // The offset was ahead of the log, which never had it: the operation has overtaken it.
        Ok(PartitionReply::Done { refused, .. }) if unanswered.drops_offset && is_missing(&refused) => {
            Answer::Body(Vec::new())
        }
        Ok(PartitionReply::Done { refused, .. }) => match refused.first() {
            Some(refused) => Answer::Denied(status(refused.reason)),
            None => Answer::Body(Vec::new()),
        },
        Ok(PartitionReply::Rejected(Rejection::Fenced)) => Answer::Denied(ErrorCode::ResourceNotFound),
        _ => Answer::Denied(ErrorCode::TransientNotCommitted),
    }
}

/// The client's answer to an offset that was stored without waiting for the log. `None` means that this node
/// does not lead the partition.
fn stored_ahead(stored: Option<Result<(), OffsetRefusal>>) -> Answer {
    match stored {
        Some(Ok(())) => Answer::Body(Vec::new()),
        Some(Err(refusal)) => Answer::Denied(status(refusal)),
        None => Answer::Denied(ErrorCode::TransientNotAccepted),
    }
}

const fn status(refusal: OffsetRefusal) -> ErrorCode {
    match refusal {
        OffsetRefusal::BeyondEnd => ErrorCode::InvalidOffset,
        OffsetRefusal::TableFull => ErrorCode::ConsumerOffsetsLimitReached,
        OffsetRefusal::Missing => ErrorCode::ConsumerOffsetNotFound,
    }
}

fn write((kind, id): Consumer, offset: Option<u64>) -> OffsetWrite {
    OffsetWrite { kind, id: id.into(), offset }
}

fn is_missing(refused: &[RefusedOffset]) -> bool {
    refused.iter().all(|refused| refused.reason == OffsetRefusal::Missing)
}

/// The error for a request that the log did not execute.
fn refusal(answer: &LogAnswer) -> ErrorCode {
    match answer {
        LogAnswer::Uncertain => ErrorCode::TransientNotCommitted,
        LogAnswer::Invalid(error) => *error,
        LogAnswer::Unsupported => ErrorCode::FeatureUnavailable,
        _ => ErrorCode::TransientNotAccepted,
    }
}

#[cfg(test)]
mod tests {
    use ng_wire::frame::RequestHeader;

    use super::*;

    #[test]
    fn an_offset_that_the_log_never_had_is_dropped_if_it_counted_as_stored() {
        let refused = vec![RefusedOffset { index: 0, reason: OffsetRefusal::Missing }];
        let reply = PartitionReply::Done { value: 0, refused }.encode();
        let place = Place { stream: 0, topic: 0, partition: 0, group: 1 };
        let told = |drops_offset| {
            let header = RequestHeader {
                size: 0,
                client: 1,
                request_checksum: 0,
                timestamp: 0,
                request: 1,
                operation: Operation::DeleteConsumerOffset.code(),
                session: 1,
                code: 0,
            };
            let connection = ng_net::ConnectionId::of(ng_io::Token(1));
            done(&Unanswered { connection, header, drops_offset }, place, &reply)
        };
        assert!(matches!(told(true), Answer::Body(body) if body.is_empty()));
        assert!(matches!(told(false), Answer::Denied(ErrorCode::ConsumerOffsetNotFound)));
    }
}
