//! One shard as a value. A turn takes events and the time, does all work that follows, and never waits.

mod adoptions;
mod cuts;
mod damaged;
mod enriching;
#[cfg(debug_assertions)]
mod faults;
mod figures;
mod housekeeping;
mod log_work;
mod partitions;
mod plane;
mod polls;
mod space;

use std::sync::Arc;
use std::time::Duration;

use ng_control::adopt_order::AdoptOrder;
use ng_control::cut_order::CutOrder;
use ng_control::host_figures::HostFigures;
use ng_control::reconcile_order;
use ng_control::record::{RECORD_RING_BYTES, Record, RecordReader};
use ng_control::shard_id::ShardId;
use ng_io::{Completion, Driver, Environment, Instant, IoError, Outcome, Token, Wait};
use ng_mesh::forward::{self, HandOverRoute};
use ng_mesh::frame::{Answer, ClientAnswer, ClientFrame, Envelope, Lifecycle, ShardFrame};
use ng_mesh::mailbox::ShardBell;
use ng_net::{Acceptor, Arrival, ConnectionId, Connections, HandOver};
use ng_session::metadata_requests::MetadataRequests;
use ng_session::request_handler::RequestHandler;
use ng_wire::table::close_reason::CloseReason;
use ng_wire::table::error::ErrorCode;
use ng_wire::table::event::Event;
use ng_wire::table::frame_drop::{DropReason, FrameVariant};
use ng_wire::table::metric::{Cell, Metric};
use ng_wire::table::record::{FromPython, Verdict};

use crate::directory::NodeLog;
use crate::ending::Ending;
use crate::metadata::proposal;
use crate::port::PythonBell;
use crate::stopping::Stopping;
use crate::trash::TrashLink;
use housekeeping::Housekeeping;
use partitions::Owned;
use plane::{FirstPlane, OwnPlane};
use space::Shortage;

/// Token of the accept operation. No connection has it, because slot numbers are far lower.
pub const ACCEPT_TOKEN: Token = Token(u64::MAX);

/// Maximum rest of an idle shard. It still turns this often, so that the supervisor can distinguish idle from
/// stuck.
const IDLE: Duration = Duration::from_millis(500);

/// Rest of a shard that is stopping or waits for room in another's mailbox.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Maximum mailbox frames per turn. The others wait for the next turn, so that completions are not delayed.
pub(crate) const FRAMES_PER_TURN: usize = 256;

/// The wish of a shard after a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// More work is ready now.
    Ready,
    /// No work before this time, unless an event arrives.
    Until(Instant),
    /// The shard has stopped in order.
    Finished,
}

/// Parts that only shard 0 has: the acceptor and the rings to Python.
#[derive(Debug)]
pub struct FirstShard {
    /// Accepts connections.
    acceptor: Acceptor,
    /// Distributes them to the shards.
    hand_over: HandOverRoute,
    /// Records from Python.
    from_python: RecordReader,
    /// Bytes of drained records; kept to reuse the capacity.
    records: Vec<u8>,
    /// Start of the current accept pause.
    paused_at: Option<Instant>,
    plane: FirstPlane,
}

impl FirstShard {
    /// No connection has arrived yet.
    pub fn new(acceptor: Acceptor, from_python: RecordReader) -> Self {
        Self {
            acceptor,
            hand_over: HandOverRoute::new(),
            from_python,
            records: Vec::new(),
            paused_at: None,
            plane: FirstPlane::default(),
        }
    }
}

/// One shard.
#[derive(Debug)]
pub struct Shard<E: Environment> {
    driver: E::Driver,
    log: NodeLog<E>,
    connections: Connections,
    handler: RequestHandler,
    first: Option<FirstShard>,
    bells: Vec<Arc<ShardBell>>,
    python_bell: Arc<PythonBell>,
    stopping: Arc<Stopping>,
    completions: Vec<Completion>,
    turns: u64,
    events_told: u64,
    shutting: bool,
    own_plane: OwnPlane,
    owned: Owned,
    shortage: Shortage,
    housekeeping: Housekeeping,
}

/// Parts from which a shard is made.
#[derive(Debug)]
pub struct ShardParts<E: Environment> {
    /// Driver, made on the shard's thread.
    pub driver: E::Driver,
    /// Log, recovered with that driver.
    pub log: NodeLog<E>,
    /// Connection table.
    pub connections: Connections,
    /// Request handler.
    pub handler: RequestHandler,
    /// Link to the thread that empties the trash.
    pub trash: Arc<TrashLink>,
    /// Present on shard 0 only.
    pub first: Option<FirstShard>,
    /// Doorbells of all shards, by shard number.
    pub bells: Vec<Arc<ShardBell>>,
    /// Python's doorbell.
    pub python_bell: Arc<PythonBell>,
    /// Progress of the node's stop.
    pub stopping: Arc<Stopping>,
}

impl<E: Environment> Shard<E> {
    /// A shard before its first turn.
    pub fn new(parts: ShardParts<E>) -> Self {
        let ShardParts { driver, log, connections, handler, trash, first, bells, python_bell, stopping } =
            parts;
        let housekeeping = Housekeeping::new(driver.now());
        Self {
            driver,
            log,
            connections,
            handler,
            first,
            bells,
            python_bell,
            stopping,
            completions: Vec::new(),
            turns: 0,
            events_told: 0,
            shutting: false,
            own_plane: OwnPlane::default(),
            owned: Owned::default(),
            shortage: Shortage::new(trash),
            housekeeping,
        }
    }

    /// Time of the shard's environment.
    pub fn now(&self) -> Instant {
        self.driver.now()
    }

    /// Does all work that is possible at `now`.
    pub fn turn(&mut self, now: Instant) -> Result<Pause, Ending> {
        self.handler.now = now;
        self.handler.wall = self.driver.wall();
        self.log.set_time(self.handler.wall);
        let mut completions = std::mem::take(&mut self.completions);
        for completion in completions.drain(..) {
            if let Some(completion) = self.log.complete(&mut self.driver, completion) {
                self.complete(completion);
            }
        }
        self.completions = completions;
        let drained = self.read_mailboxes();
        self.read_python()?;
        self.tend_acceptor();
        self.connections.expire(now, &mut self.driver, &mut self.handler);
        self.serve_own_partitions();
        self.turn_log()?;
        let resumed = self.resume_polls();
        self.tend_plane();
        self.tend_space();
        self.keep_house();
        let wound_down = self.stopping.began() && self.wind_down(now);
        self.handler.mailboxes.flush(&self.bells);
        let finished = wound_down && drained && !self.handler.mailboxes.is_blocked();
        if finished {
            self.handler.tell(Event::ShardStopped, [self.handler.id.0.into(), self.turns]);
        }
        self.publish();
        if finished {
            return Ok(Pause::Finished);
        }
        let has_news =
            self.handler.registry.as_ref().is_some_and(|registry| registry.logins_in_progress().has_news());
        if !drained || has_news || resumed {
            return Ok(Pause::Ready);
        }
        Ok(Pause::Until(self.next_look(now)))
    }

    fn next_look(&self, now: Instant) -> Instant {
        let registry = self.handler.registry.as_ref();
        let waits = registry.is_some_and(|registry| registry.logins_in_progress().is_turned_back())
            || self.stopping.began()
            || self.is_python_behind()
            || self.handler.mailboxes.is_blocked();
        let idle = if waits { LOOK_AGAIN } else { IDLE };
        let acceptor = self.first.as_ref().and_then(|first| first.acceptor.paused_until());
        let log = self.log.deadline();
        let held = self.handler.metadata.as_ref().and_then(MetadataRequests::deadline);
        [self.connections.next_deadline(), acceptor, log, held, self.own_plane.deadline()]
            .into_iter()
            .flatten()
            .fold(now + idle, Instant::min)
    }

    /// The shard's driver.
    pub fn driver(&self) -> &E::Driver {
        &self.driver
    }

    /// Waits for the next event. This is the only call of a shard that may block.
    pub fn rest(&mut self, pause: Pause) -> Result<(), IoError> {
        let wait = self.lie_down(pause);
        self.get_up(wait)
    }

    /// First half of a rest: from now on, senders ring the shard's doorbell. Returns how long it may sleep.
    pub fn lie_down(&self, pause: Pause) -> Wait {
        let bell = &self.bells[self.handler.id.index()];
        let mailboxes = &self.handler.mailboxes;
        let from_python = self.first.as_ref().map(|first| &first.from_python);
        let (stopping, shutting) = (&self.stopping, self.shutting);
        let idle = || {
            mailboxes.is_empty()
                && from_python.is_none_or(RecordReader::is_empty)
                && (shutting || !stopping.began())
        };
        match pause {
            Pause::Until(at) if bell.may_sleep(idle) => Wait::Until(at),
            _ => Wait::Now,
        }
    }

    /// Second half of a rest: sleeps for at most `wait` and collects completions.
    pub fn get_up(&mut self, wait: Wait) -> Result<(), IoError> {
        let outcome = self.driver.complete(wait, &mut self.completions);
        self.bells[self.handler.id.index()].awake();
        outcome
    }

    fn complete(&mut self, completion: Completion) {
        let id = ConnectionId::of(completion.token);
        let now = self.handler.now;
        self.handler.replies.unsent = self.connections.unsent();
        let (driver, handler) = (&mut self.driver, &mut self.handler);
        match completion.outcome {
            Outcome::Accepted(result) => self.accepted(result),
            Outcome::Received { buffer, result } => {
                self.connections.received(id, buffer, &result, now, driver, handler);
            }
            Outcome::Sent { buffer, result } => {
                self.connections.sent(id, buffer, &result, now, driver, handler);
            }
            Outcome::Read { .. }
            | Outcome::Written { .. }
            | Outcome::Synced(_)
            | Outcome::Opened(_)
            | Outcome::Named(_) => {
                unreachable!("all operations on files are the log's")
            }
        }
    }

    fn accepted(&mut self, result: Result<(ng_io::Socket, std::net::SocketAddr), IoError>) {
        let first = self.first.as_mut().expect("the first shard alone accepts");
        let registry = self.handler.registry.as_mut().expect("the first shard has the registry");
        match first.acceptor.accepted(result, self.handler.now, &mut self.driver) {
            Arrival::Nothing => {}
            Arrival::Paused(error) => {
                self.handler.metrics.add(const { Cell::of(Metric::AcceptPauses) }, 1);
                if first.paused_at.is_none() {
                    first.paused_at = Some(self.handler.now);
                    let open = self.connections.count() as u64;
                    self.handler.tell(Event::AcceptPaused, [open, error.errno().unsigned_abs().into()]);
                }
            }
            Arrival::Connection(socket, address) => {
                if let Some(since) = first.paused_at.take() {
                    let paused = u64::try_from((self.handler.now - since).as_millis()).unwrap_or(u64::MAX);
                    let open = self.connections.count() as u64;
                    self.handler.log.push(Event::AcceptResumed, [open, paused], self.handler.wall);
                }
                self.handler.metrics.add(const { Cell::of(Metric::ConnectionsAccepted) }, 1);
                let Some(client_id) = registry.admit(address) else {
                    self.handler.metrics.add(Cell::close(CloseReason::TableFull), 1);
                    return;
                };
                let target = first.hand_over.target(self.handler.mailboxes.shards());
                let arrival = HandOver { socket, client_id, address };
                if target == self.handler.id {
                    self.connections.adopt(arrival, &mut self.driver, &mut self.handler);
                } else {
                    forward::route_hand_over(&mut self.handler.mailboxes, target, arrival);
                }
            }
        }
    }

    /// Takes frames from the other shards. Returns true if all mailboxes are empty.
    fn read_mailboxes(&mut self) -> bool {
        for taken in 0..FRAMES_PER_TURN {
            let Some(envelope) = self.handler.mailboxes.receive() else {
                self.handler.metrics.add(const { Cell::of(Metric::MailboxEntries) }, taken as u64);
                return true;
            };
            self.deliver(envelope);
        }
        self.handler.metrics.add(const { Cell::of(Metric::MailboxEntries) }, FRAMES_PER_TURN as u64);
        false
    }

    fn deliver(&mut self, envelope: Envelope) {
        if envelope.to != self.handler.id {
            self.return_misrouted(envelope.frame);
            return;
        }
        match envelope.frame {
            ShardFrame::Lifecycle(Lifecycle::HandOver(arrival)) => {
                self.connections.adopt(arrival, &mut self.driver, &mut self.handler);
            }
            ShardFrame::Lifecycle(Lifecycle::SessionEnded(ended)) => self.end_session(&ended),
            ShardFrame::Client(ClientFrame::Answer(answer)) => self.answer(*answer),
            ShardFrame::Client(ClientFrame::Partition(request)) => self.serve_partition(*request),
            ShardFrame::Plane(frame) => self.take_plane_frame(frame),
            frame => match (&mut self.handler.registry, frame) {
                (Some(registry), ShardFrame::Lifecycle(Lifecycle::Closed { client_id })) => {
                    registry.closed(client_id);
                }
                (Some(_), ShardFrame::Client(ClientFrame::Request(request))) => {
                    let shard = request.shard;
                    if let Some(answer) = self.handler.handle(*request) {
                        self.answer_on(shard, answer);
                    }
                }
                (_, frame) => self.return_misrouted(frame),
            },
        }
    }

    /// Handles a frame that reached a shard which cannot serve it: counts the drop and answers a waiting
    /// client.
    fn return_misrouted(&mut self, frame: ShardFrame) {
        self.handler.count_drop(frame.variant(), DropReason::Misrouted);
        match frame {
            ShardFrame::Lifecycle(Lifecycle::HandOver(arrival)) => {
                self.handler.forget_client(arrival.client_id);
            }
            ShardFrame::Client(ClientFrame::Request(request)) => {
                let answer = Answer::Refused(ErrorCode::TransientNotAccepted);
                let (connection, header) = (request.connection, request.header);
                self.answer_on(request.shard, ClientAnswer { connection, header, answer });
            }
            ShardFrame::Client(ClientFrame::Partition(request)) => self.return_partition_request(&request),
            ShardFrame::Lifecycle(Lifecycle::Closed { .. } | Lifecycle::SessionEnded(_))
            | ShardFrame::Client(ClientFrame::Answer(_))
            | ShardFrame::Plane(_) => {}
        }
    }

    /// Answers a connection of any shard.
    fn answer_on(&mut self, shard: ShardId, answer: ClientAnswer) {
        if shard == self.handler.id {
            self.answer(answer);
        } else {
            forward::route_client_answer(&mut self.handler.mailboxes, shard, answer);
        }
    }

    /// Answers a connection of this shard.
    fn answer(&mut self, answer: ClientAnswer) {
        let now = self.handler.now;
        self.handler.replies.unsent = self.connections.unsent();
        let (connections, driver) = (&mut self.connections, &mut self.driver);
        let (connection, header) = (answer.connection, answer.header);
        let delivered =
            connections.answer(connection, now, driver, &mut self.handler, |handler, peer, reply| {
                handler.write_answer(peer, &header, answer.answer, reply)
            });
        if !delivered {
            self.handler.count_drop(FrameVariant::ClientAnswer, DropReason::Gone);
        }
    }

    /// Takes the records from Python, on shard 0.
    fn read_python(&mut self) -> Result<(), Ending> {
        let Some(first) = &mut self.first else { return Ok(()) };
        let mut bytes = std::mem::take(&mut first.records);
        bytes.clear();
        // One read can hold the whole ring, so no record is left for another turn.
        first.from_python.drain(&mut bytes, RECORD_RING_BYTES);
        let mut rest = &bytes[..];
        while let Some((record, next)) = Record::split(rest) {
            self.take_record(&record)?;
            rest = next;
        }
        if let Some(first) = &mut self.first {
            first.records = bytes;
        }
        Ok(())
    }

    /// Executes one record. The boundary has already checked its kind and layout.
    fn take_record(&mut self, record: &Record<'_>) -> Result<(), Ending> {
        let registry = self.handler.registry.as_mut().expect("the first shard has the registry");
        let Some(kind) = FromPython::from_code(record.kind) else {
            #[cfg(debug_assertions)]
            return self.take_fault(record);
            #[cfg(not(debug_assertions))]
            unreachable!("record kind {} passed the boundary", record.kind);
        };
        match kind {
            FromPython::LoginVerdict => {
                let (verdict, user_id) = login_verdict(record.body).expect("checked at the boundary");
                if let Some((shard, answer)) = registry.verdict(record.token, verdict, user_id) {
                    self.answer_on(shard, answer);
                }
            }
            FromPython::HostFigures => {
                let host = HostFigures::decode(record.body).expect("checked at the boundary");
                self.shortage.trash.space_sampled(host.free_disk_space, host.total_disk_space);
                registry.set_host(host);
            }
            FromPython::OpenDoors => {
                let first = self.first.as_mut().expect("Python writes to the first shard");
                if !self.stopping.began() {
                    first.acceptor.open(&mut self.driver);
                }
            }
            FromPython::AppliedPart => self.take_part(record.body),
            FromPython::Applied => self.take_applied(record.token, record.body)?,
            FromPython::Reconcile => {
                let orders = reconcile_order::orders(record.body).expect("checked at the boundary");
                self.take_orders(ShardId(record.shard), record.token, orders)?;
            }
            FromPython::Cut => {
                let order = CutOrder::decode(record.body).expect("checked at the boundary");
                self.take_cut(ShardId(record.shard), record.token, order)?;
            }
            FromPython::Adopt => {
                let order = AdoptOrder::decode(record.body).expect("checked at the boundary");
                self.take_adoption(ShardId(record.shard), record.token, order)?;
            }
            FromPython::Enriched => self.take_enriched(record.token, record.body),
            FromPython::Propose => {
                let request = proposal(record.body).expect("checked at the boundary");
                // The control plane asks again until it has applied the operation.
                self.log.propose(request).ok();
            }
            FromPython::Converged => {
                if let Some(commands) = &mut self.handler.metadata {
                    commands.converged(record.token);
                }
            }
        }
        Ok(())
    }

    fn tend_acceptor(&mut self) {
        if let Some(first) = &mut self.first
            && first.acceptor.paused_until().is_some_and(|until| until <= self.handler.now)
        {
            first.acceptor.open(&mut self.driver);
        }
    }

    /// Stops in order: accepts no connections, gives outstanding answers, then closes the rest. Shard 0 stops
    /// last, because the others may wait for its answers. Returns true if this shard is done.
    fn wind_down(&mut self, now: Instant) -> bool {
        if !self.shutting {
            self.shutting = true;
            if let Some(first) = &mut self.first {
                first.acceptor.close(&mut self.driver);
            }
            if let Some(registry) = &mut self.handler.registry {
                registry.stop();
            }
        }
        let overdue = now >= self.stopping.drain_deadline();
        let end = self.connections.wind_down(overdue, now, &mut self.driver, &mut self.handler);
        if end.cut > 0 {
            self.stopping.cut();
            self.handler.tell(Event::AnswersCut, [self.handler.id.0.into(), end.cut as u64]);
        }
        if self.first.is_none() {
            return end.left == 0 && self.stop_log();
        }
        let alone = self.stopping.others_finished();
        if alone {
            // Frames that still wait for the other mailboxes are connections that those shards will never
            // serve.
            for variant in self.handler.mailboxes.discard_waiting() {
                self.handler.count_drop(variant, DropReason::Stopping);
            }
        }
        let settled = overdue
            || self.handler.registry.as_ref().is_none_or(|registry| registry.logins_in_progress().is_idle());
        end.left == 0 && alone && settled && self.stop_log()
    }
}

/// Decodes the body of a `LOGIN_VERDICT` record.
pub fn login_verdict(body: &[u8]) -> Option<(Verdict, u32)> {
    let (code, user_id) = body.split_first()?;
    Some((Verdict::from_code(*code)?, u32::from_le_bytes(user_id.try_into().ok()?)))
}
