//! The connection table of one shard, over plain TCP.

use ng_io::{Buffer, Driver, Instant, IoError, Operation};
use ng_wire::frame::{HEADER_BYTES, RequestHeader};
use ng_wire::table::close_reason::CloseReason;

use crate::admission::Unauthenticated;
use crate::connection::{Connection, Peer, Phase};
use crate::deadlines::Deadlines;
use crate::frame_memory::FrameMemory;
use crate::hand_over::HandOver;
use crate::identity::ConnectionId;
use crate::input::{Arming, Look};
use crate::limits::{LINGER, Limits, SPARE_OUTPUT_BYTES_MAX, SPARE_OUTPUTS_MAX, STOP_LINGER, STOP_PATIENCE};
use crate::sending::{self, Sending};
use crate::service::{Served, Service};
use crate::unsent::{PROOF_BYTES, Unsent};

#[derive(Debug, Default)]
struct Slot {
    generation: u32,
    connection: Option<Connection>,
}

/// Sums of one table, for the metrics of its shard.
#[derive(Clone, Copy, Debug, Default)]
pub struct Traffic {
    /// Bytes received.
    pub bytes_received: u64,
    /// Bytes sent.
    pub bytes_sent: u64,
    /// Frames whose first bytes were acknowledged at once, because their peer waits for the acknowledgement.
    pub early_acknowledgements: u64,
}

/// All connections of a shard.
#[derive(Debug)]
pub struct Connections {
    limits: Limits,
    slots: Vec<Slot>,
    free: Vec<u32>,
    unauthenticated: Unauthenticated,
    deadlines: Deadlines,
    spare_outputs: Vec<Buffer>,
    /// Buffers of served frames, for reuse.
    frame_memory: FrameMemory,
    /// Bytes of memory of long frames that are arriving.
    frame_bytes: usize,
    /// The reply under construction; kept to reuse its capacity.
    reply: Vec<u8>,
    traffic: Traffic,
    /// Bytes of replies that the kernel has not taken yet.
    unsent: Unsent,
    /// The server is stopping and serves no further request.
    stopping: bool,
}

impl Connections {
    /// An empty table. Its memory grows with the connections, up to the limits.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            slots: Vec::new(),
            free: Vec::new(),
            unauthenticated: Unauthenticated::default(),
            deadlines: Deadlines::default(),
            spare_outputs: Vec::new(),
            frame_memory: FrameMemory::new(limits.spare_memory_max),
            frame_bytes: 0,
            reply: Vec::new(),
            traffic: Traffic::default(),
            unsent: Unsent::default(),
            stopping: false,
        }
    }

    /// Number of open connections.
    pub fn count(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Number of open connections without a session.
    pub fn unauthenticated(&self) -> usize {
        self.unauthenticated.count()
    }

    /// Bytes of replies that wait for their peers.
    pub fn unsent(&self) -> Unsent {
        self.unsent
    }

    /// Bytes of memory of long frames that are arriving.
    pub fn frame_bytes(&self) -> usize {
        self.frame_bytes
    }

    /// Bytes of spare memory.
    pub fn spare_bytes(&self) -> usize {
        self.frame_memory.bytes()
    }

    /// Frees spare memory without use for a minute. The caller calls it every ten seconds. Returns the number
    /// of bytes freed.
    pub fn age_memory(&mut self) -> usize {
        self.frame_memory.age()
    }

    /// Sums since the start.
    pub fn traffic(&self) -> Traffic {
        self.traffic
    }

    /// The earliest time at which [`Self::expire`] has work.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.deadlines.next()
    }

    /// Adopts an accepted connection and starts to receive. If the table is full or the driver refuses the
    /// descriptor, the connection is closed and reported as closed.
    pub fn adopt<D: Driver, S: Service>(&mut self, arrival: HandOver, driver: &mut D, service: &mut S) {
        let HandOver { socket, client_id, address } = arrival;
        let mut peer = Peer::new(client_id, address);
        if self.count() >= self.limits.connections_max {
            service.closed(&peer, CloseReason::TableFull);
            return;
        }
        let handle = match driver.adopt_socket(socket) {
            Ok(handle) => handle,
            Err(_) => {
                service.closed(&peer, CloseReason::IoError);
                return;
            }
        };
        if let Ok(local) = driver.local_address(handle) {
            peer.local_address = local;
        }
        let id = self.insert(Connection::new(peer, handle));
        self.unauthenticated.join(id.slot);
        self.arm(id, None, driver);
        self.displace(driver, service);
    }

    /// Closes the oldest connections without a session while there are too many.
    fn displace<D: Driver, S: Service>(&mut self, driver: &mut D, service: &mut S) {
        while self.unauthenticated.count() > self.limits.strangers_max
            && let Some(oldest) = self.unauthenticated.oldest()
        {
            self.close(self.id(oldest), CloseReason::Displaced, driver, service);
        }
    }

    fn insert(&mut self, connection: Connection) -> ConnectionId {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            u32::try_from(self.slots.len() - 1).expect("the table is bounded far below 2^32 slots")
        });
        self.slots[slot as usize].connection = Some(connection);
        self.id(slot)
    }

    fn id(&self, slot: u32) -> ConnectionId {
        ConnectionId { slot, generation: self.slots[slot as usize].generation }
    }

    fn get(&mut self, id: ConnectionId) -> Option<&mut Connection> {
        row(&mut self.slots, id)
    }

    /// Properties of a connection, if it still exists.
    pub fn peer_mut(&mut self, id: ConnectionId) -> Option<&mut Peer> {
        self.get(id).map(|connection| &mut connection.peer)
    }

    /// Handles a completed receive operation.
    pub fn received<D: Driver, S: Service>(
        &mut self,
        id: ConnectionId,
        buffer: Buffer,
        result: &Result<usize, IoError>,
        now: Instant,
        driver: &mut D,
        service: &mut S,
    ) {
        let Some(connection) = self.get(id) else { return };
        connection.input.disarm(buffer);
        match *result {
            Ok(0) => {
                connection.end_of_stream();
                self.advance(id, now, driver, service);
            }
            Ok(count) => {
                connection.input.note_arrival(now);
                self.traffic.bytes_received += count as u64;
                self.advance(id, now, driver, service);
            }
            Err(_) => self.close(id, CloseReason::IoError, driver, service),
        }
    }

    /// Handles a completed send operation.
    pub fn sent<D: Driver, S: Service>(
        &mut self,
        id: ConnectionId,
        mut buffer: Buffer,
        result: &Result<(), IoError>,
        now: Instant,
        driver: &mut D,
        service: &mut S,
    ) {
        let bytes = buffer.len();
        // A closed connection has nothing left to prove.
        let is_proven = row(&mut self.slots, id).is_none_or(|connection| connection.peer.is_proven);
        self.unsent.remove(bytes, is_proven);
        buffer.clear();
        if self.spare_outputs.len() < SPARE_OUTPUTS_MAX && buffer.capacity() <= SPARE_OUTPUT_BYTES_MAX {
            self.spare_outputs.push(buffer);
        }
        let Some(connection) = row(&mut self.slots, id) else { return };
        connection.sending = None;
        connection.taken += bytes as u64;
        if !connection.peer.is_proven && connection.taken >= PROOF_BYTES {
            connection.peer.is_proven = true;
            self.unsent.unproven -= connection.output_bytes();
        }
        match result {
            Ok(()) => {
                self.traffic.bytes_sent += bytes as u64;
                self.advance(id, now, driver, service);
            }
            Err(_) => self.close(id, CloseReason::IoError, driver, service),
        }
    }

    /// Answers a request that [`Served::Waiting`] left open. Returns true if the connection still exists.
    pub fn answer<D: Driver, S: Service>(
        &mut self,
        id: ConnectionId,
        now: Instant,
        driver: &mut D,
        service: &mut S,
        write: impl FnOnce(&mut S, &mut Peer, &mut Vec<u8>) -> Served,
    ) -> bool {
        let mut reply = std::mem::take(&mut self.reply);
        let Some(connection) = self.get(id) else {
            self.reply = reply;
            return false;
        };
        assert!(connection.waiting, "an answer without a request");
        connection.waiting = false;
        let was_bound = connection.peer.bound.is_some();
        let served = write(service, &mut connection.peer, &mut reply);
        self.conclude(id, was_bound, served, &mut reply);
        self.keep(reply);
        self.advance(id, now, driver, service);
        true
    }

    /// Does everything that a connection's bytes, replies and phase allow: serve, send, receive, wait.
    fn advance<D: Driver, S: Service>(
        &mut self,
        id: ConnectionId,
        now: Instant,
        driver: &mut D,
        service: &mut S,
    ) {
        let next = loop {
            let next = self.serve_frames(id, service);
            self.send(id, now, driver);
            // A send operation may have taken the replies that blocked the connection, so more requests can
            // be served at once.
            let full = self.get(id).is_none_or(|connection| connection.is_full());
            if next != Next::Send || full {
                break next;
            }
        };
        match next {
            Next::Close(reason) => self.close(id, reason, driver, service),
            Next::Send | Next::Hold => self.hold(id),
            Next::Read(header) => self.read_on(id, header.as_ref(), now, driver),
            Next::Drain => self.drain(id, now, driver, service),
        }
        self.watch(id, now);
        self.displace(driver, service);
    }

    /// Serves buffered frames until bytes run out, an answer is pending, or too many reply bytes wait.
    fn serve_frames<S: Service>(&mut self, id: ConnectionId, service: &mut S) -> Next {
        let mut reply = std::mem::take(&mut self.reply);
        let next = loop {
            let (frame_bytes_max, stopping) = (self.limits.frame_bytes_max, self.stopping);
            let memory = &mut self.frame_memory;
            let Some(connection) = row(&mut self.slots, id) else { break Next::Hold };
            if connection.phase != Phase::Open {
                break Next::Drain;
            }
            if connection.waiting || stopping {
                break Next::Hold;
            }
            if connection.is_full() {
                break Next::Send;
            }
            if connection.input.is_armed() {
                break Next::Read(None);
            }
            connection.input.throw_away(memory);
            let header = match connection.input.look(frame_bytes_max) {
                Look::Starved => break Next::Read(None),
                Look::Broken(reason) => break Next::Close(reason),
                Look::Header(header) => header,
            };
            let was_bound = connection.peer.bound.is_some();
            let served = if header.size > service.frame_bytes_max(&connection.peer, &header) {
                let served = service.serve(id, &mut connection.peer, &header, None, &mut reply);
                connection.input.consume_unread(&header, memory);
                served
            } else {
                let is_whole = connection.input.received().len() >= header.size as usize;
                if !is_whole && connection.gets_memory(&header, &mut self.frame_bytes, &self.limits) {
                    let kept = service.kept(&header, connection.input.received());
                    connection.input.place(kept, self.limits.kept_front);
                    break Next::Read(Some(header));
                }
                if let Some(body) = connection.input.body(&header, memory) {
                    let served = service.serve(id, &mut connection.peer, &header, Some(body), &mut reply);
                    connection.input.consume(&header, memory);
                    served
                } else {
                    let served = service.busy(&mut connection.peer, &header, &mut reply);
                    connection.input.consume_unread(&header, memory);
                    served
                }
            };
            connection.give_memory_back(&mut self.frame_bytes);
            self.conclude(id, was_bound, served, &mut reply);
            reply.clear();
        };
        self.keep(reply);
        next
    }

    /// Stops the clock of a peer that waits for this server.
    fn hold(&mut self, id: ConnectionId) {
        if let Some(connection) = self.get(id) {
            connection.input.stop_clock();
        }
    }

    /// Sets the deadline of the current frame and receives the rest of it.
    fn read_on<D: Driver>(
        &mut self,
        id: ConnectionId,
        header: Option<&RequestHeader>,
        now: Instant,
        driver: &mut D,
    ) {
        let limits = self.limits;
        let Some(connection) = self.get(id) else { return };
        let frame_bytes = connection.input.frame_bytes(header);
        let began = connection.input.run_clock(now, limits.allowance(frame_bytes));
        if began && connection.input.awaits_acknowledgement(frame_bytes) {
            driver.acknowledge_now(connection.handle);
            self.traffic.early_acknowledgements += 1;
        }
        self.arm(id, header, driver);
    }

    /// Drops bytes that arrive after the last answer, and lingers once all replies are sent.
    fn drain<D: Driver, S: Service>(
        &mut self,
        id: ConnectionId,
        now: Instant,
        driver: &mut D,
        service: &mut S,
    ) {
        let Some(connection) = self.get(id) else { return };
        connection.input.clear();
        connection.input.stop_clock();
        match connection.phase {
            Phase::Finishing(reason) | Phase::Lingering(reason, _)
                if connection.is_quiet() && connection.input.has_ended() =>
            {
                self.close(id, reason, driver, service);
            }
            Phase::Finishing(reason) if connection.is_quiet() => {
                connection.phase = Phase::Lingering(reason, now + LINGER);
                driver.finish_sending(connection.handle);
                self.arm(id, None, driver);
            }
            _ => self.arm(id, None, driver),
        }
    }

    fn keep(&mut self, mut reply: Vec<u8>) {
        reply.clear();
        reply.shrink_to(SPARE_OUTPUT_BYTES_MAX);
        self.reply = reply;
    }

    /// Applies the outcome of a request: queues the reply, and updates session and phase.
    fn conclude(&mut self, id: ConnectionId, was_bound: bool, served: Served, reply: &mut Vec<u8>) {
        let spare = &mut self.spare_outputs;
        let Some(connection) = self.slots[id.slot as usize].connection.as_mut() else { return };
        match served {
            Served::Waiting => connection.waiting = true,
            Served::Answered => {}
            Served::AnsweredLast(reason) => connection.phase = Phase::Finishing(reason),
        }
        self.unsent.add(reply.len(), connection.peer.is_proven);
        if reply.len() > SPARE_OUTPUT_BYTES_MAX && connection.output.is_none() {
            connection.output = Some(Buffer::from(std::mem::take(reply)));
        } else if !reply.is_empty() {
            connection
                .output
                .get_or_insert_with(|| spare.pop().unwrap_or_else(|| Buffer::with_capacity(HEADER_BYTES)))
                .extend_from_slice(reply);
        }
        match (was_bound, connection.peer.bound.is_some()) {
            (false, true) => self.unauthenticated.leave(id.slot),
            (true, false) => self.unauthenticated.join(id.slot),
            _ => {}
        }
    }

    fn send<D: Driver>(&mut self, id: ConnectionId, now: Instant, driver: &mut D) {
        let limits = &self.limits;
        let patience =
            if self.stopping { STOP_PATIENCE.min(limits.send_timeout) } else { limits.send_timeout };
        let Some(connection) = self.slots[id.slot as usize].connection.as_mut() else { return };
        if connection.is_sending() {
            return;
        }
        if let Some(buffer) = connection.output.take() {
            connection.sending =
                Some(Sending::new(now, buffer.len(), limits.allowance(buffer.len()), patience));
            driver.submit(id.token(), Operation::Send { socket: connection.handle, buffer });
        }
    }

    /// Starts to receive, unless a receive operation is outstanding.
    fn arm<D: Driver>(&mut self, id: ConnectionId, header: Option<&RequestHeader>, driver: &mut D) {
        let Some(connection) = row(&mut self.slots, id) else { return };
        let frame_bytes = connection.input.frame_bytes(header);
        let socket = connection.handle;
        if let Some(Arming { buffer, wanted }) = connection.input.arm(frame_bytes, &mut self.frame_memory) {
            driver.submit(id.token(), Operation::Receive { socket, buffer, wanted });
        }
    }

    /// Sets the timer of a connection, at most one frame time ahead. So entries of slow transfers leave the
    /// heap soon even if their connections end early.
    fn watch(&mut self, id: ConnectionId, now: Instant) {
        let horizon = now + self.limits.frame_time;
        let Some(connection) = self.get(id) else { return };
        if let Some((at, _)) = connection.deadline() {
            self.deadlines.arm(id.slot, at.min(horizon));
        }
    }

    /// Closes every connection whose deadline has passed.
    pub fn expire<D: Driver, S: Service>(&mut self, now: Instant, driver: &mut D, service: &mut S) {
        while let Some(slot) = self.deadlines.due(now) {
            let id = self.id(slot);
            let Some(connection) = self.get(id) else { continue };
            match connection.deadline() {
                Some((at, CloseReason::SendTimeout))
                    if at <= now && self.takes_its_reply(id, now, driver) =>
                {
                    self.watch(id, now);
                }
                Some((at, reason)) if at <= now => self.close(id, reason, driver, service),
                Some(_) => self.watch(id, now),
                None => {}
            }
        }
    }

    /// Shortens the time of peers that take nothing of their reply, because others need the memory. It visits
    /// every connection, so call it only during a shortage, and rarely.
    pub fn hurry_replies<D: Driver>(&mut self, now: Instant, driver: &D) {
        for index in 0..self.slots.len() {
            let slot = u32::try_from(index).expect("the table is bounded far below 2^32 slots");
            let id = self.id(slot);
            if let Some(connection) = self.get(id).filter(|connection| connection.is_sending()) {
                connection.hurry(now, driver.acknowledged(connection.handle));
                self.watch(id, now);
            }
        }
    }

    /// Returns true if the peer still takes bytes of its reply.
    fn takes_its_reply<D: Driver>(&mut self, id: ConnectionId, now: Instant, driver: &D) -> bool {
        let Some(connection) = self.get(id) else { return false };
        let acknowledged = driver.acknowledged(connection.handle);
        connection
            .sending
            .as_mut()
            .is_some_and(|sending| sending.look(now, acknowledged) == sending::Look::Moving)
    }

    /// Closes a connection. Completions of outstanding operations are ignored, because the slot's generation
    /// has changed.
    pub fn close<D: Driver, S: Service>(
        &mut self,
        id: ConnectionId,
        reason: CloseReason,
        driver: &mut D,
        service: &mut S,
    ) {
        let slot = &mut self.slots[id.slot as usize];
        if slot.generation != id.generation {
            return;
        }
        let Some(connection) = slot.connection.take() else { return };
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(id.slot);
        self.unauthenticated.leave(id.slot);
        self.frame_bytes -= connection.frame_bytes;
        self.unsent.remove(connection.output_bytes(), connection.peer.is_proven);
        if let Some(sending) = connection.sending.filter(|_| !connection.peer.is_proven) {
            // The driver returns the buffer later, when the connection no longer exists.
            self.unsent.unproven -= sending.bytes;
        }
        driver.close(connection.handle);
        service.closed(&connection.peer, reason);
    }

    /// Ends all connections. No further request is served. Outstanding answers are sent; a connection without
    /// any lingers for a moment. With `overdue` all are closed at once.
    pub fn wind_down<D: Driver, S: Service>(
        &mut self,
        overdue: bool,
        now: Instant,
        driver: &mut D,
        service: &mut S,
    ) -> WindDown {
        let began = !std::mem::replace(&mut self.stopping, true);
        let mut cut = 0;
        for index in 0..self.slots.len() {
            let slot = u32::try_from(index).expect("the table is bounded far below 2^32 slots");
            let id = self.id(slot);
            let Some(connection) = self.get(id) else { continue };
            let quiet = connection.is_quiet();
            if began && connection.is_sending() {
                connection.hurry_to_stop(now, driver.acknowledged(connection.handle));
                self.watch(id, now);
            }
            let Some(connection) = self.get(id) else { continue };
            if overdue {
                cut += usize::from(connection.is_owed());
                self.close(id, CloseReason::Stopping, driver, service);
            } else if quiet && connection.phase == Phase::Open {
                connection.phase = Phase::Lingering(CloseReason::Stopping, now + STOP_LINGER);
                driver.finish_sending(connection.handle);
                self.drain(id, now, driver, service);
                self.watch(id, now);
            }
        }
        WindDown { left: self.count(), cut }
    }
}

fn row(slots: &mut [Slot], id: ConnectionId) -> Option<&mut Connection> {
    let slot = slots.get_mut(id.slot as usize)?;
    if slot.generation == id.generation { slot.connection.as_mut() } else { None }
}

/// Next need of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// More bytes: of the frame with this header, if the header has arrived.
    Read(Option<RequestHeader>),
    /// A send operation must take the waiting replies first.
    Send,
    /// An answer from elsewhere must arrive before anything is read.
    Hold,
    /// The last reply was given; drop all further bytes.
    Drain,
    /// The connection must be closed.
    Close(CloseReason),
}

/// Progress of ending all connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindDown {
    /// Connections that are still open.
    pub left: usize,
    /// Connections that this call closed although an answer was outstanding.
    pub cut: usize,
}
