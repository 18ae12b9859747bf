//! Requests of clients and frames of other nodes.

use ng_io::{Chunk, Environment, WallMicros};
use ng_partition::{StampRefusal, Stamper};
use ng_storage::record_body::ViewBody;
use ng_vsr::{Event, Request};
use ng_wire::replica::{Content, Frame, Level, LogOperation, Message, Op, SUFFIX_MAX, body_checksum};
use ng_wire::table::error::ErrorCode;

use crate::group::{Body, Ticket};
use crate::host::ShardLog;
use crate::machine::{Machine, MetadataMachine};
use crate::outbox::LogAnswer;
use crate::owner::METADATA;
use crate::replicate::agenda::Work;

/// Journal bytes that batches must not use, so that topics can be deleted or purged even if producers
/// continue while the disk is full.
const KEPT_FROM_BATCHES: usize = 256 << 10;

/// A request for the log of a group.
#[derive(Clone, Debug)]
pub struct LogRequest {
    /// Target group.
    pub group: u64,
    /// Client id; zero for the cluster itself.
    pub client: u128,
    /// Session of the client. Only the metadata group checks it.
    pub session: u64,
    /// Request number.
    pub request: u64,
    /// Kind of operation.
    pub operation: LogOperation,
    /// Durability that the acknowledgement promises.
    pub level: Level,
    /// Body; that of a batch is not stamped yet.
    pub body: Chunk,
}

/// Role in which this node takes an operation.
#[derive(Clone, Copy, Debug)]
enum Role {
    Primary,
    Backup,
}

impl<E: Environment, M: MetadataMachine> ShardLog<E, M> {
    /// Sets the time of day for requests from now on. Each turn of the log sets it, too.
    pub const fn set_time(&mut self, wall: WallMicros) {
        self.clock.set_wall(wall);
    }

    /// Takes a request. The answer carries its ticket and leaves in this turn or a later one.
    pub fn request(&mut self, ticket: Ticket, request: LogRequest) {
        let id = request.group;
        if let Err(answer) = self.prepare(Some(ticket), request) {
            if answer == LogAnswer::Busy {
                self.outbox.counts.busy += 1;
            }
            debug_assert!(self.groups.contains_key(&id) || answer == LogAnswer::NoGroup);
            self.outbox.answer(ticket, answer);
        }
    }

    /// The answer to a request of the metadata group by its number alone; nothing if it can be asked for.
    #[must_use]
    pub fn recall(&self, client: u128, session: u64, request: u64) -> Option<LogAnswer> {
        let Some(group) = self.groups.get(&METADATA) else { return Some(LogAnswer::NoGroup) };
        let session = self.op_of_session(METADATA, LogOperation::Metadata, session);
        group.replica.recall(client, session, request).map(LogAnswer::from)
    }

    /// Takes a request of the cluster itself, whose result no client waits for.
    pub fn propose(&mut self, request: LogRequest) -> Result<(), LogAnswer> {
        self.prepare(None, request)
    }

    /// Passes a request to the replica. After a batch, unlogged offsets are proposed, too.
    pub(crate) fn prepare(&mut self, ticket: Option<Ticket>, request: LogRequest) -> Result<(), LogAnswer> {
        let LogRequest { group: id, client, session, request, operation, level, mut body } = request;
        let group = self.groups.get(&id).ok_or(LogAnswer::NoGroup)?;
        if !group.replica.is_primary() {
            return Err(LogAnswer::NotPrimary);
        }
        let head = group.replica.head();
        let admits = group.replica.admits();
        let has_room = self.has_room(id, head.next(), body.len())
            && (operation != LogOperation::Batch
                || self.leaves_room(id, head.next(), body.len(), self.kept_from_batches()));
        self.hurry_checkpoint(id, head.next(), Role::Primary);
        if !has_room {
            self.journal.make_room();
        }
        if self.is_too_far_ahead(id, head.next(), Role::Primary) || !admits || !has_room {
            return Err(LogAnswer::Busy);
        }
        if id != METADATA {
            self.stamp(id, head, operation, &mut body)?;
        }
        let overtakes = matches!(operation, LogOperation::Offsets | LogOperation::DropGroupOffsets);
        if overtakes && ticket.is_some() && id != METADATA && self.life.planted.marks_overtaken_offsets() {
            self.offsets_prepared(id, operation, head.next(), &body);
        }
        let (body_check, checksum) = body_checksum(operation, &body);
        let event = Event::Request(Request {
            client,
            session: self.op_of_session(id, operation, session),
            request,
            operation: operation.code(),
            level,
            timestamp: self.clock.wall().0,
            body_checksum: checksum,
            body_check,
            body_bytes: u32::try_from(body.len())
                .map_err(|_| LogAnswer::Invalid(ErrorCode::CommandLengthError))?,
        });
        self.step(Work { group: id, event, body: Some(Body::new(body)), ticket });
        if operation == LogOperation::Batch {
            self.propose_offsets(id);
        }
        Ok(())
    }

    fn kept_from_batches(&self) -> usize {
        KEPT_FROM_BATCHES.min(self.journal.core().body_bytes_max() / 4)
    }

    /// The journal has room for a body of `bytes` bytes and `kept` more.
    fn leaves_room(&self, id: u64, next: Op, bytes: usize, kept: usize) -> bool {
        let (live, live_max) = self.journal.core().live_bytes();
        self.has_room(id, next, (bytes + kept).min(self.journal.core().body_bytes_max()))
            && live + (bytes + kept) as u64 <= live_max
    }

    /// The journal has room for a prepare of another node. Only the next operation may use the room reserved
    /// for the largest one. Otherwise the journal could be full of operations that cannot commit without the
    /// next one, and would stay full.
    pub(crate) fn has_room_for_prepare(&self, id: u64, op: Op, bytes: usize) -> bool {
        let comes_next = || self.groups.get(&id).is_none_or(|group| op <= group.replica.lacks_from());
        self.leaves_room(id, op, bytes, self.journal.core().body_bytes_max())
            || self.has_room(id, op, bytes) && comes_next()
    }

    /// Maximum operations that a vote or a view record can list: a vote lists at most [`SUFFIX_MAX`], and the
    /// journal refuses larger bodies than it can hold.
    pub(crate) fn listed_max(&self) -> u64 {
        ViewBody::headers_in(self.journal.core().body_bytes_max()).min(SUFFIX_MAX) as u64
    }

    /// An operation is too far ahead of the state that a start would have, because the vote after a start
    /// lists all operations in between, and the record of the next view contains that list. A primary stops
    /// earlier than a backup, so that operations in progress, and those that a new view adds, still fit.
    fn is_too_far_ahead(&self, group: u64, op: Op, role: Role) -> bool {
        self.ahead(group, op) > self.ahead_max(role)
    }

    /// Hurries the next manifest when half of the limit is used. A manifest advances the state that a start
    /// would have, so the limit is normally not reached.
    fn hurry_checkpoint(&mut self, group: u64, op: Op, role: Role) {
        if self.ahead(group, op) > self.ahead_max(role) / 2 {
            self.checkpoint.hurried = true;
        }
    }

    /// Operations between the state that a start would have and `op`.
    fn ahead(&self, group: u64, op: Op) -> u64 {
        self.groups.get(&group).map_or(0, |group| op.since(group.records.kept()))
    }

    fn ahead_max(&self, role: Role) -> u64 {
        let listed = self.listed_max();
        match role {
            Role::Primary => listed - listed / 8,
            Role::Backup => listed - listed / 16,
        }
    }

    /// The op of the login, by which the log knows a session. For a number that was skipped it is the op of
    /// no login.
    fn op_of_session(&self, id: u64, operation: LogOperation, session: u64) -> u64 {
        if id != METADATA || operation == LogOperation::Register {
            return session;
        }
        session.checked_sub(self.life.sessions_passed_over).unwrap_or(u64::MAX)
    }

    /// Stamps a batch with offsets. Refuses until all operations of earlier views are executed, because until
    /// then the next offset is unknown.
    fn stamp(
        &mut self,
        id: u64,
        head: Op,
        operation: LogOperation,
        body: &mut [u8],
    ) -> Result<(), LogAnswer> {
        let now = self.clock.wall().0;
        let batch = operation == LogOperation::Batch;
        let Some(group) = self.groups.get_mut(&id) else { return Err(LogAnswer::NoGroup) };
        let executed = group.replica.commit_min();
        let Machine::Partition(partition, stamper) = &mut group.machine else {
            return Err(LogAnswer::Unsupported);
        };
        if stamper.is_none() {
            if executed < head {
                return Err(LogAnswer::Busy);
            }
            *stamper = Some(Stamper::begin(partition));
        }
        let Some(stamper) = stamper else { return Err(LogAnswer::Busy) };
        if let Some(index) = group.index {
            stamper.set_partition_index(index);
        }
        if batch {
            return stamper
                .stamp(body, now)
                .map(drop)
                .map_err(|refusal| LogAnswer::Invalid(status(&refusal)));
        }
        stamper.follow(operation, body);
        Ok(())
    }

    /// Takes a frame of another node.
    pub fn receive(&mut self, from: u8, bytes: &[u8]) {
        let Ok((frame, body)) = Frame::decode(bytes) else {
            self.outbox.counts.dropped += 1;
            return;
        };
        if frame.cluster != self.life.identity.cluster
            || frame.replica != from
            || from >= self.life.identity.nodes
        {
            self.outbox.counts.dropped += 1;
            return;
        }
        match frame.content {
            Content::Beat(beat) => self.receive_beat(from, &beat),
            Content::Message(message) => {
                self.peers.liveness.heard(from, frame.group, self.clock.ticks());
                self.receive_message(from, frame.group, frame.epoch, message, body);
            }
            Content::NotOpen => self.receive_opening(from, frame.group, Event::NotOpen { from }),
            Content::Opened => self.receive_opening(from, frame.group, Event::Opened { from }),
            Content::FetchState(fetch) => self.serve_state(from, frame.group, &fetch),
            Content::StateChunk(chunk) => self.take_state(from, frame.group, &chunk, body),
        }
    }

    /// Another node reports whether it has opened the group.
    fn receive_opening(&mut self, from: u8, group: u64, event: Event) {
        self.peers.liveness.heard(from, group, self.clock.ticks());
        self.agenda.event(group, event);
    }

    fn receive_message(&mut self, from: u8, id: u64, epoch: u32, message: Message, body: &[u8]) {
        let Some(group) = self.groups.get(&id) else {
            self.send_content(from, id, epoch, Content::NotOpen, None);
            return;
        };
        if group.epoch != epoch {
            self.outbox.counts.dropped += 1;
            return;
        }
        let mut kept = None;
        if let Message::Prepare(prepare) = &message {
            let header = prepare.header;
            if !self.has_room_for_prepare(id, header.op, body.len()) {
                self.journal.make_room();
                self.peers.refused.add(id, header.op, body.len());
                self.outbox.counts.dropped_full += 1;
                return;
            }
            if !header.verifies(body) {
                self.outbox.counts.dropped += 1;
                return;
            }
            self.hurry_checkpoint(id, header.op, Role::Backup);
            if self.is_too_far_ahead(id, header.op, Role::Backup) {
                self.outbox.counts.dropped_full += 1;
                return;
            }
            kept = Some(Self::share(body.to_vec()));
        }
        let event = Event::Message { from, message };
        self.agenda.add(Work { group: id, event, body: kept, ticket: None });
    }
}

/// Error for the producer of a refused batch.
fn status(refusal: &StampRefusal) -> ErrorCode {
    match refusal {
        StampRefusal::Malformed(refusal) => refusal.status(),
        StampRefusal::TooLarge { .. } | StampRefusal::Numbers => ErrorCode::InvalidCommand,
        StampRefusal::Fenced => ErrorCode::ResourceNotFound,
    }
}
