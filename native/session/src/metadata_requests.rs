//! Metadata commands of clients on the first shard: from the question to the log, and from its answer to the
//! client.

use std::collections::VecDeque;
use std::time::Duration;

use ng_control::metadata_reply::MetadataReply;
use ng_control::shard_id::ShardId;
use ng_io::Instant;
use ng_mesh::frame::{Answer, ClientAnswer, Decided};
use ng_net::connection::Bound;
use ng_replication::owner::METADATA;
use ng_replication::{LogAnswer, LogRequest};
use ng_wire::replica::{Level, LogOperation, Op};
use ng_wire::table::error::ErrorCode;
use ng_wire::table::eviction::EvictionReason;
use ng_wire::table::operation::Operation;

use crate::enrichments::Enrichments;
use crate::login::Asker;
use crate::tickets::Tickets;

/// Commands that wait for the log or for their partitions, of all clients together.
const WAITING_MAX: usize = 4096;

/// How long the answer to a command waits at most for every shard to stand where the command took it.
const PATIENCE: Duration = Duration::from_secs(2);

/// An answer and the shard of the connection it goes to.
type Addressed = (ShardId, ClientAnswer);

/// An answer that is known and waits for the shards.
#[derive(Debug)]
struct Held {
    asker: Asker,
    answer: Answer,
    op: u64,
    revision: u64,
    until: Instant,
}

/// The commands that are under way.
#[derive(Debug)]
pub struct MetadataRequests {
    /// Those with passwords, before they are in the log.
    pub enrichments: Enrichments,
    in_log: Tickets<Asker>,
    /// Oldest first.
    held: VecDeque<Held>,
    /// What the partitions of every shard have converged on.
    converged: u64,
    /// The operation that the rows of each other shard stand at.
    mirrored: Vec<u64>,
    own: ShardId,
    /// Answers that were given before every shard stood where the command took it.
    unconverged: u64,
    #[cfg(feature = "plants")]
    plant: Option<ng_control::plant::Plant>,
}

impl MetadataRequests {
    /// Nothing is under way, and no mirror has any rows.
    #[must_use]
    pub fn new(own: ShardId, shards: u16) -> Self {
        Self {
            enrichments: Enrichments::new(),
            in_log: Tickets::new(WAITING_MAX),
            held: VecDeque::new(),
            converged: 0,
            mirrored: vec![0; usize::from(shards)],
            own,
            unconverged: 0,
            #[cfg(feature = "plants")]
            plant: None,
        }
    }

    /// Has a bug from now on.
    #[cfg(feature = "plants")]
    pub fn plant(&mut self, plant: Option<ng_control::plant::Plant>) {
        self.plant = plant;
    }

    /// Takes a command whose body was looked at; what the log is to be asked for it, under a ticket. Without
    /// room it is refused.
    pub fn take(
        &mut self,
        asker: Asker,
        bound: Bound,
        operation: Operation,
        body: &[u8],
    ) -> Result<(u64, LogRequest), ClientAnswer> {
        let (client, request) = (asker.header.client, asker.header.request);
        if self.held.len() >= WAITING_MAX {
            return Err(busy(&asker));
        }
        let ticket = self.in_log.file(asker).map_err(|asker| busy(&asker))?;
        let mut content = Vec::with_capacity(5 + body.len());
        content.push(operation.code());
        content.extend_from_slice(&bound.user_id.to_le_bytes());
        content.extend_from_slice(body);
        let request = LogRequest {
            group: METADATA,
            client,
            session: bound.session,
            request,
            operation: LogOperation::Metadata,
            level: Level::Persisted,
            body: content.into(),
        };
        Ok((ticket, request))
    }

    /// What the log says to a command. Its answer may have to wait: see [`Self::ready`].
    pub fn logged(&mut self, ticket: u64, answer: LogAnswer, now: Instant) -> Option<Addressed> {
        let asker = self.in_log.redeem(ticket)?;
        self.settle(asker, answer, now)
    }

    /// Answers a command as the log does. The answer may have to wait: see [`Self::ready`].
    pub fn settle(&mut self, asker: Asker, answer: LogAnswer, now: Instant) -> Option<Addressed> {
        match answer {
            LogAnswer::Done { op, reply } => {
                self.hold(asker, op, &reply, now);
                None
            }
            LogAnswer::NoSession => {
                let answer = Answer::Evicted(EvictionReason::NoSession);
                Some((asker.shard, asker.answer(answer)))
            }
            other => Some((asker.shard, asker.answer(Answer::Refused(refusal(&other))))),
        }
    }

    fn hold(&mut self, asker: Asker, op: Op, reply: &[u8], now: Instant) {
        let (answer, revision) = match MetadataReply::decode(reply) {
            Ok(MetadataReply { result, revision, payload }) => {
                let result = (result != 0).then(|| ErrorCode::from_code(result).unwrap_or(ErrorCode::Error));
                let decided = Decided { op: op.0, result, payload: payload.to_vec() };
                (Answer::Decided(Box::new(decided)), revision)
            }
            // Of an operation that is no command, such as a logout with the number of a request.
            Err(_) => (Answer::Refused(ErrorCode::InvalidCommand), 0),
        };
        self.held.push_back(Held { asker, answer, op: op.0, revision, until: now + PATIENCE });
    }

    /// The partitions of every shard stand at this revision.
    pub fn converged(&mut self, revision: u64) {
        self.converged = self.converged.max(revision);
    }

    /// The rows of a shard stand at this operation.
    pub fn mirrored(&mut self, shard: ShardId, op: u64) {
        if let Some(mirrored) = self.mirrored.get_mut(shard.index()) {
            *mirrored = op.max(*mirrored);
        }
    }

    /// Answers that stopped waiting before every shard stood where their command took it.
    #[must_use]
    pub const fn unconverged(&self) -> u64 {
        self.unconverged
    }

    /// When the oldest answer stops waiting.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.held.front().map(|held| held.until)
    }

    /// Answers that wait no longer. `told`: the operation of the newest rows that the mirrors were sent.
    pub fn ready(&mut self, told: u64, now: Instant) -> Vec<Addressed> {
        let own = self.own.index();
        let others = self.mirrored.iter().enumerate().filter(|(shard, _)| *shard != own);
        let behind = others.map(|(_, op)| *op).min().unwrap_or(u64::MAX);
        let mut ready = Vec::new();
        for held in std::mem::take(&mut self.held) {
            // Nothing was sent behind `told`, so a mirror that stands there knows every operation.
            let seen = behind >= held.op.min(told);
            let converged = seen && self.converged >= held.revision;
            #[cfg(feature = "plants")]
            let converged = converged || self.plant == Some(ng_control::plant::Plant::EarlyAnswer);
            if converged || now >= held.until {
                self.unconverged += u64::from(!converged);
                ready.push((held.asker.shard, held.asker.answer(held.answer)));
            } else {
                self.held.push_back(held);
            }
        }
        ready
    }
}

fn busy(asker: &Asker) -> ClientAnswer {
    asker.answer(Answer::Refused(ErrorCode::TransientNotAccepted))
}

/// What a client is told of an answer of the log that is no result.
fn refusal(answer: &LogAnswer) -> ErrorCode {
    match answer {
        LogAnswer::Uncertain => ErrorCode::TransientNotCommitted,
        LogAnswer::Superseded => ErrorCode::RequestAlreadyApplied,
        LogAnswer::Invalid(error) => *error,
        LogAnswer::Unsupported => ErrorCode::InvalidCommand,
        _ => ErrorCode::TransientNotAccepted,
    }
}

#[cfg(test)]
mod tests {
    use ng_io::Token;
    use ng_net::ConnectionId;
    use ng_wire::frame::RequestHeader;

    use super::*;

    const START: Instant = Instant::from_nanos(0);
    const BOUND: Bound = Bound { session: 3, user_id: 0 };

    fn asker(shard: u16) -> Asker {
        Asker {
            shard: ShardId(shard),
            connection: ConnectionId::of(Token(1)),
            client_id: 1,
            header: RequestHeader {
                size: 256,
                client: 7,
                request_checksum: 0,
                timestamp: 0,
                request: 1,
                operation: Operation::CreateTopic.code(),
                session: 3,
                code: 0,
            },
        }
    }

    /// The reply of an operation that was done and waits for a revision.
    fn done(op: u64, revision: u64) -> LogAnswer {
        let mut reply = vec![0; 4];
        reply.extend(revision.to_le_bytes());
        LogAnswer::Done { op: Op(op), reply }
    }

    fn ask(requests: &mut MetadataRequests) -> u64 {
        requests.take(asker(0), BOUND, Operation::CreateTopic, b"body").expect("room").0
    }

    #[test]
    fn a_command_goes_into_the_log_with_its_session_and_its_user() {
        let mut requests = MetadataRequests::new(ShardId::FIRST, 1);
        let (_, request) = requests.take(asker(0), BOUND, Operation::CreateTopic, b"body").expect("room");
        assert_eq!((request.group, request.session), (METADATA, 3));
        assert_eq!(request.body[..], [&[Operation::CreateTopic.code(), 0, 0, 0, 0][..], b"body"].concat());
    }

    #[test]
    fn an_answer_waits_for_the_partitions_of_its_revision() {
        let mut requests = MetadataRequests::new(ShardId::FIRST, 1);
        let ticket = ask(&mut requests);
        assert!(requests.logged(ticket, done(1, 5), START).is_none());
        assert!(requests.ready(1, START).is_empty());
        requests.converged(4);
        assert!(requests.ready(1, START).is_empty());
        requests.converged(5);
        assert_eq!(requests.ready(1, START).len(), 1);
        assert!(requests.ready(1, START).is_empty() && requests.deadline().is_none());
    }

    #[test]
    fn an_answer_waits_for_the_mirrors() {
        let mut requests = MetadataRequests::new(ShardId::FIRST, 3);
        let ticket = ask(&mut requests);
        requests.logged(ticket, done(4, 0), START);
        requests.mirrored(ShardId(1), 4);
        assert!(requests.ready(4, START).is_empty(), "the third shard does not know of it");
        requests.mirrored(ShardId(2), 4);
        assert_eq!(requests.ready(4, START).len(), 1);
        let ticket = ask(&mut requests);
        requests.logged(ticket, done(9, 0), START);
        assert_eq!(requests.ready(4, START).len(), 1, "it changed no row: there is nothing to wait for");
    }

    #[test]
    fn nobody_waits_for_ever() {
        let mut requests = MetadataRequests::new(ShardId::FIRST, 1);
        let ticket = ask(&mut requests);
        requests.logged(ticket, done(1, 5), START);
        assert_eq!(requests.deadline(), Some(START + PATIENCE));
        assert_eq!(requests.ready(1, START + PATIENCE).len(), 1);
        assert_eq!(requests.unconverged(), 1);
        let ticket = ask(&mut requests);
        requests.logged(ticket, done(2, 5), START);
        requests.converged(5);
        assert_eq!(requests.ready(2, START + PATIENCE).len(), 1);
        assert_eq!(requests.unconverged(), 1, "late, and converged");
    }

    #[test]
    fn what_the_log_does_not_do_is_told_at_once() {
        let mut requests = MetadataRequests::new(ShardId::FIRST, 1);
        for (answer, expected) in [
            (LogAnswer::Busy, ErrorCode::TransientNotAccepted),
            (LogAnswer::NotPrimary, ErrorCode::TransientNotAccepted),
            (LogAnswer::Uncertain, ErrorCode::TransientNotCommitted),
            (LogAnswer::Superseded, ErrorCode::RequestAlreadyApplied),
        ] {
            let ticket = ask(&mut requests);
            let (_, told) = requests.logged(ticket, answer, START).expect("told at once");
            assert!(matches!(told.answer, Answer::Refused(error) if error == expected), "{told:?}");
        }
        let ticket = ask(&mut requests);
        let (_, told) = requests.logged(ticket, LogAnswer::NoSession, START).expect("told at once");
        assert!(matches!(told.answer, Answer::Evicted(EvictionReason::NoSession)));
    }
}
