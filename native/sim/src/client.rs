//! A client that asks one thing at a time, and asks again until it is answered.

use ng_io::Chunk;
use ng_io::simulated::Random;
use ng_replication::owner::METADATA;
use ng_replication::{LogAnswer, LogRequest, Ticket};
use ng_storage::block::BODY_FRONT;
use ng_wire::batch::{BATCH_HEADER_BYTES, BatchBuilder, MESSAGE_HEADER_BYTES};
use ng_wire::replica::{Level, LogOperation, Op};

use crate::conditions::{FRAME_BYTES_MAX, MESSAGES_MAX};

/// How long it waits for an answer, in milliseconds, before it asks another node.
const PATIENCE: u64 = 700;

/// What a client does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Registers, changes rows, logs out now and then.
    Registrant,
    /// Sends messages to a partition.
    Producer(u64),
}

/// One client.
#[derive(Debug)]
pub(crate) struct Client {
    /// Its number, not zero.
    pub(crate) id: u128,
    role: Role,
    session: u64,
    request: u64,
    /// Counts everything it ever asked.
    asked: u64,
    /// What it asks now, until it is answered.
    asking: Option<LogRequest>,
    /// The ticket of the last attempt, and when it was sent.
    ticket: Option<(Ticket, u64)>,
    /// The node that it asks.
    pub(crate) target: u8,
    /// When it was answered last.
    pub(crate) answered_at: u64,
    /// It asks nothing new before.
    pub(crate) due: u64,
}

/// What an answer was about: the group, the number of the request, and whether a retry must be told the same.
pub(crate) type Answered = (u64, u128, bool);

impl Client {
    /// A client that has asked nothing yet.
    #[must_use]
    pub(crate) fn new(id: u128, role: Role) -> Self {
        Self {
            id,
            role,
            session: 0,
            request: 0,
            asked: 0,
            asking: None,
            ticket: None,
            target: 0,
            answered_at: 0,
            due: 0,
        }
    }

    /// The group that it asks.
    #[must_use]
    pub(crate) const fn group(&self) -> u64 {
        match self.role {
            Role::Registrant => METADATA,
            Role::Producer(group) => group,
        }
    }

    /// Whether it waits for an answer.
    #[must_use]
    pub(crate) fn is_waiting(&self) -> bool {
        self.asking.is_some()
    }

    /// Decides on its next request.
    pub(crate) fn begin(&mut self, payload_bytes: (u64, u64), random: &mut Random) {
        self.asked += 1;
        let number = self.id << 64 | u128::from(self.asked);
        let (group, operation, body) = match self.role {
            Role::Producer(group) => (group, LogOperation::Batch, batch(number, payload_bytes, random)),
            Role::Registrant => (METADATA, self.wish(random), number.to_le_bytes().to_vec()),
        };
        if operation == LogOperation::Metadata || operation == LogOperation::Logout {
            self.request += 1;
        }
        self.asking = Some(LogRequest {
            group,
            client: self.id,
            session: self.session,
            request: if operation == LogOperation::Register { 0 } else { self.request },
            operation,
            level: if random.flip() { Level::Persisted } else { Level::Replicated },
            body: body.into(),
        });
    }

    fn wish(&self, random: &mut Random) -> LogOperation {
        match (self.session, random.below(20)) {
            (0, _) => LogOperation::Register,
            (_, 0) => LogOperation::Logout,
            _ => LogOperation::Metadata,
        }
    }

    /// What it sends now under a new ticket, if it has waited long enough for the one before.
    pub(crate) fn attempt(&mut self, ticket: Ticket, now: u64, nodes: u8) -> Option<LogRequest> {
        if let Some((_, sent)) = self.ticket {
            if now < sent + PATIENCE {
                return None;
            }
            self.target = (self.target + 1) % nodes;
        }
        let mut request = self.asking.clone()?;
        if self.asked.is_multiple_of(2) {
            // As a server receives a long one: the journal writes it from where it is.
            request.body = Chunk::with_front(BODY_FRONT, &request.body);
        }
        self.ticket = Some((ticket, now));
        Some(request)
    }

    /// Takes an answer; says what it was about if it was told that its request was executed.
    pub(crate) fn answered(
        &mut self,
        ticket: Ticket,
        answer: &LogAnswer,
        now: u64,
        nodes: u8,
    ) -> Option<Answered> {
        let (known, _) = self.ticket?;
        if known != ticket {
            return None;
        }
        self.ticket = None;
        match answer {
            LogAnswer::Done { op, .. } => {
                let request = self.asking.take()?;
                self.answered_at = now;
                Some(self.done(&request, *op))
            }
            LogAnswer::NoSession | LogAnswer::Superseded => {
                self.session = 0;
                self.request = 0;
                self.asking = None;
                // Where sessions are fewer than clients, this may be all that it is told for a while.
                self.answered_at = now;
                None
            }
            LogAnswer::NotPrimary | LogAnswer::NoGroup => {
                self.target = (self.target + 1) % nodes;
                None
            }
            LogAnswer::Busy | LogAnswer::Uncertain | LogAnswer::Unsupported | LogAnswer::Invalid(_) => None,
        }
    }

    fn done(&mut self, request: &LogRequest, op: Op) -> Answered {
        match request.operation {
            LogOperation::Register => (self.session, self.request) = (op.0, 0),
            LogOperation::Logout => self.session = 0,
            _ => {}
        }
        let number = self.id << 64 | u128::from(self.asked);
        (request.group, number, request.operation == LogOperation::Metadata)
    }
}

/// One to [`MESSAGES_MAX`] messages, the first of this number; as many as a frame takes.
fn batch(number: u128, (least, spread): (u64, u64), random: &mut Random) -> Vec<u8> {
    let mut batch = BatchBuilder::new(1_700_000_000_000_000);
    let mut room = FRAME_BYTES_MAX as usize - BATCH_HEADER_BYTES;
    for index in 0..=random.below(MESSAGES_MAX - 1) {
        let mut payload = number.to_le_bytes().to_vec();
        let bytes = usize::try_from(least + random.below(spread)).unwrap_or(1);
        if index > 0 && room < MESSAGE_HEADER_BYTES + bytes {
            break;
        }
        let bytes = bytes.min(room - MESSAGE_HEADER_BYTES);
        room -= MESSAGE_HEADER_BYTES + bytes;
        payload.resize(bytes, u8::try_from(index).unwrap_or(0));
        batch = batch.message(number + u128::from(index), 0, &payload, &[]);
    }
    batch.finish()
}
