//! Commands that Python has to look at before the log takes them, because their passwords must be hashed.

use ng_control::record::{Record, RingFull};
use ng_control::shard_id::ShardId;
use ng_mesh::frame::Secret;
use ng_net::connection::Bound;
use ng_wire::primitive::{Malformed, Reader, put_u8, put_u32};
use ng_wire::table::error::ErrorCode;
use ng_wire::table::limit::ENRICHMENTS_MAX;
use ng_wire::table::operation::Operation;
use ng_wire::table::record::ToPython;

use crate::login::Asker;
use crate::tickets::Tickets;

/// A command as its connection's shard passed it on.
#[derive(Debug)]
pub struct Unenriched {
    /// Who waits for it.
    pub asker: Asker,
    /// Who asks.
    pub bound: Bound,
    /// What for.
    pub operation: Operation,
    /// As the client wrote it.
    pub body: Secret,
}

/// A command that Python is looking at; the body is Python's.
#[derive(Debug)]
pub struct Enriching {
    /// Who waits for it.
    pub asker: Asker,
    /// Who asks.
    pub bound: Bound,
    /// What for.
    pub operation: Operation,
}

/// What Python made of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enriched<'a> {
    /// 0, or the code of an error: the log is not asked.
    pub result: u32,
    /// What goes into the log.
    pub body: &'a [u8],
}

impl<'a> Enriched<'a> {
    /// Reads the body of a record.
    pub fn decode(body: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        Ok(Self { result: reader.u32()?, body: reader.bytes(reader.remaining())? })
    }

    /// Why the log is not asked, if it is not.
    #[must_use]
    pub fn error(&self) -> Option<ErrorCode> {
        (self.result != 0).then(|| ErrorCode::from_code(self.result).unwrap_or(ErrorCode::Error))
    }
}

/// The commands that Python is to look at, and those that it is looking at.
#[derive(Debug)]
pub struct Enrichments {
    /// Those of this turn.
    arrived: Vec<Unenriched>,
    rows: Tickets<Enriching>,
    /// The clients of the rows: no retry is looked at beside its first attempt.
    clients: Vec<u128>,
}

impl Enrichments {
    /// None.
    #[must_use]
    pub fn new() -> Self {
        Self { arrived: Vec::new(), rows: Tickets::new(ENRICHMENTS_MAX as usize), clients: Vec::new() }
    }

    /// How many Python is looking at.
    #[must_use]
    pub fn count(&self) -> usize {
        self.rows.count()
    }

    /// Keeps a command until the log was asked whether it knows it.
    pub fn arrive(&mut self, command: Unenriched) {
        self.arrived.push(command);
    }

    /// The commands that arrived since this was called last.
    pub fn take_arrived(&mut self) -> Vec<Unenriched> {
        std::mem::take(&mut self.arrived)
    }

    /// Passes a command to Python; who asked, if there is no room for it, or if it is a retry of one that is
    /// there.
    pub fn begin(
        &mut self,
        command: Unenriched,
        push: impl FnOnce(&Record<'_>) -> Result<(), RingFull>,
    ) -> Result<(), Asker> {
        let Unenriched { asker, bound, operation, body } = command;
        let client = asker.header.client;
        if self.clients.contains(&client) {
            return Err(asker);
        }
        let token = self.rows.file(Enriching { asker, bound, operation }).map_err(|row| row.asker)?;
        let mut content = Vec::with_capacity(5 + body.0.len());
        put_u8(&mut content, operation.code());
        put_u32(&mut content, bound.user_id);
        content.extend_from_slice(&body.0);
        let record = Record { kind: ToPython::Enrich.code(), shard: ShardId::FIRST.0, token, body: &content };
        if push(&record).is_err() {
            let row = self.rows.redeem(token).expect("filed above");
            return Err(row.asker);
        }
        self.clients.push(client);
        Ok(())
    }

    /// The command that Python has looked at.
    pub fn redeem(&mut self, ticket: u64) -> Option<Enriching> {
        let row = self.rows.redeem(ticket)?;
        self.clients.retain(|client| *client != row.asker.header.client);
        Some(row)
    }
}

impl Default for Enrichments {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use ng_io::Token;
    use ng_net::ConnectionId;
    use ng_wire::frame::RequestHeader;

    use super::*;

    fn command(client: u128) -> Unenriched {
        let operation = Operation::CreateUser;
        let header = RequestHeader {
            size: 256,
            client,
            request_checksum: 0,
            timestamp: 0,
            request: 1,
            operation: operation.code(),
            session: 3,
            code: 0,
        };
        let connection = ConnectionId::of(Token(1));
        Unenriched {
            asker: Asker { shard: ShardId(0), connection, client_id: 1, header },
            bound: Bound { session: 3, user_id: 5 },
            operation,
            body: Secret(b"body".as_slice().into()),
        }
    }

    #[test]
    fn python_gets_operation_user_and_body_and_no_retry_beside_them() {
        let mut enrichments = Enrichments::new();
        let mut sent = Vec::new();
        let begun = enrichments.begin(command(7), |record| {
            sent.push((record.token, record.body.to_vec()));
            Ok(())
        });
        assert!(begun.is_ok());
        assert!(enrichments.begin(command(7), |_| Ok(())).is_err(), "its first attempt is there");
        let (ticket, body) = sent.pop().expect("sent");
        assert_eq!(body, [&[Operation::CreateUser.code(), 5, 0, 0, 0], &b"body"[..]].concat());
        assert_eq!(enrichments.redeem(ticket).map(|row| row.bound.user_id), Some(5));
        assert!(enrichments.redeem(ticket).is_none());
        assert!(enrichments.begin(command(7), |_| Ok(())).is_ok());
    }

    #[test]
    fn as_many_wait_as_may_and_a_full_ring_leaves_nothing_behind() {
        let mut enrichments = Enrichments::new();
        assert!(enrichments.begin(command(1), |_| Err(RingFull)).is_err());
        assert_eq!(enrichments.count(), 0);
        for client in 1..=u128::from(ENRICHMENTS_MAX) {
            assert!(enrichments.begin(command(client), |_| Ok(())).is_ok());
        }
        assert!(enrichments.begin(command(9999), |_| Ok(())).is_err());
        assert_eq!(enrichments.count(), ENRICHMENTS_MAX as usize);
    }

    #[test]
    fn an_answer_is_an_error_or_a_body() {
        let code = 42_u32.to_le_bytes();
        let refused = Enriched::decode(&code).expect("an answer");
        assert_eq!(refused.error(), Some(ErrorCode::InvalidCredentials));
        let body = [&0_u32.to_le_bytes()[..], b"body"].concat();
        let enriched = Enriched::decode(&body).expect("an answer");
        assert_eq!((enriched.error(), enriched.body), (None, &b"body"[..]));
        assert!(Enriched::decode(&[0; 3]).is_err());
    }
}
