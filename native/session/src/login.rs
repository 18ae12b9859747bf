//! Logins and logouts on their way through the log of the metadata group: in order, a few at a time, none
//! forgotten.
//!
//! A login is answered when its op is executed, which is after it was synced: a session that a client knows
//! of survives every crash, and no later session has its number.

use std::collections::VecDeque;

use ng_control::shard_id::ShardId;
use ng_mesh::frame::{Answer, ClientAnswer};
use ng_net::ConnectionId;
use ng_replication::owner::METADATA;
use ng_replication::{LogAnswer, LogRequest, Ticket};
use ng_wire::frame::RequestHeader;
use ng_wire::replica::{Level, LogOperation};

use crate::log_ticket::LogCaller;
use crate::tickets::Tickets;

/// Requests in the log at a time: fewer than its pipeline takes.
const UNDER_WAY_MAX: usize = 32;

/// The number of a logout, whoever asks for it: beyond all requests of its session.
const LAST_REQUEST: u64 = u64::MAX;

/// A connection that waits for an answer.
#[derive(Debug)]
pub struct Asker {
    /// The shard of the connection.
    pub shard: ShardId,
    /// The connection there.
    pub connection: ConnectionId,
    /// Its number in the registry.
    pub client_id: u32,
    /// Of its request, for the echo.
    pub header: RequestHeader,
}

/// What is to be in the log.
#[derive(Debug)]
pub enum LoginInProgress {
    /// Somebody proved who they are, and gets a session.
    Login {
        /// Who waits for it.
        asker: Asker,
        /// Who they are.
        user_id: u32,
    },
    /// A session ends.
    Logout {
        /// The client.
        client: u128,
        /// Its session.
        session: u64,
        /// Who asked; nobody if the connection is gone.
        asker: Option<Asker>,
    },
}

/// What waits for the log, and what is in it.
#[derive(Debug)]
pub struct LoginsInProgress {
    waiting: VecDeque<LoginInProgress>,
    under_way: Tickets<LoginInProgress>,
    count_under_way: usize,
    /// What the log could not take just now, oldest first. It comes before all that waits.
    turned_back: Vec<LoginInProgress>,
    logins: usize,
}

impl Asker {
    /// The answer for whoever waits.
    pub fn answer(&self, answer: Answer) -> ClientAnswer {
        ClientAnswer { connection: self.connection, header: self.header, answer }
    }
}

impl LoginsInProgress {
    /// Nothing waits.
    pub fn new() -> Self {
        Self {
            waiting: VecDeque::new(),
            under_way: Tickets::new(UNDER_WAY_MAX),
            count_under_way: 0,
            turned_back: Vec::new(),
            logins: 0,
        }
    }

    /// Logins that are not settled.
    pub fn logins(&self) -> usize {
        self.logins
    }

    /// Whether everything is settled.
    pub fn is_idle(&self) -> bool {
        self.count_under_way == 0 && self.waiting.is_empty() && self.turned_back.is_empty()
    }

    /// Whether there is something that the log has not been asked for since it had no room.
    pub fn has_news(&self) -> bool {
        self.turned_back.is_empty() && !self.waiting.is_empty() && self.count_under_way < UNDER_WAY_MAX
    }

    /// Whether the log is to be asked again after a while.
    pub fn is_turned_back(&self) -> bool {
        !self.turned_back.is_empty()
    }

    /// Files something for the log.
    pub fn push(&mut self, login: LoginInProgress) {
        self.logins += usize::from(login.is_login());
        self.waiting.push_back(login);
    }

    /// What the log is to be asked for now, oldest first.
    pub fn requests(&mut self) -> Vec<(Ticket, LogRequest)> {
        for login in self.turned_back.drain(..).rev() {
            self.waiting.push_front(login);
        }
        let mut requests = Vec::new();
        while self.count_under_way < UNDER_WAY_MAX
            && let Some(login) = self.waiting.pop_front()
        {
            let request = login.request();
            let ticket = self.under_way.file(login).expect("as many rows as are under way at most");
            self.count_under_way += 1;
            requests.push((LogCaller::LoginsInProgress.tag(ticket), request));
        }
        requests
    }

    /// Takes an answer of the log. What it could not take is asked again later; anything else is returned.
    pub fn answered(&mut self, ticket: Ticket, answer: LogAnswer) -> Option<(LoginInProgress, LogAnswer)> {
        let login = self.under_way.redeem(ticket.0)?;
        self.count_under_way -= 1;
        match answer {
            // Both may be done twice: the later session of a client replaces the one before.
            LogAnswer::Busy | LogAnswer::NotPrimary | LogAnswer::Uncertain => {
                self.turned_back.push(login);
                None
            }
            settled => {
                self.logins -= usize::from(login.is_login());
                Some((login, settled))
            }
        }
    }
}

impl Default for LoginsInProgress {
    fn default() -> Self {
        Self::new()
    }
}

impl LoginInProgress {
    fn is_login(&self) -> bool {
        matches!(self, Self::Login { .. })
    }

    fn request(&self) -> LogRequest {
        let (client, session, request, operation, body) = match self {
            Self::Login { asker, user_id } => {
                (asker.header.client, 0, 0, LogOperation::Register, user_id.to_le_bytes().to_vec())
            }
            Self::Logout { client, session, .. } => {
                (*client, *session, LAST_REQUEST, LogOperation::Logout, Vec::new())
            }
        };
        let (level, body) = (Level::Persisted, body.into());
        LogRequest { group: METADATA, client, session, request, operation, level, body }
    }
}

#[cfg(test)]
mod tests {
    use ng_wire::replica::Op;

    use super::*;

    fn logout(client: u128) -> LoginInProgress {
        LoginInProgress::Logout { client, session: 1, asker: None }
    }

    fn done() -> LogAnswer {
        LogAnswer::Done { op: Op(9), reply: vec![0] }
    }

    fn clients(requests: &[(Ticket, LogRequest)]) -> Vec<u128> {
        requests.iter().map(|(_, request)| request.client).collect()
    }

    #[test]
    fn what_the_log_could_not_take_comes_first_and_in_order() {
        let mut logins_in_progress = LoginsInProgress::new();
        for client in 1..=3 {
            logins_in_progress.push(logout(client));
        }
        let asked = logins_in_progress.requests();
        logins_in_progress.push(logout(4));
        assert!(logins_in_progress.answered(asked[0].0, done()).is_some());
        assert!(logins_in_progress.answered(asked[1].0, LogAnswer::Busy).is_none());
        assert!(logins_in_progress.answered(asked[2].0, LogAnswer::NotPrimary).is_none());
        assert!(logins_in_progress.is_turned_back() && !logins_in_progress.has_news());
        assert_eq!(clients(&logins_in_progress.requests()), [2, 3, 4]);
    }

    #[test]
    fn a_crowd_is_asked_for_a_few_at_a_time() {
        let mut logins_in_progress = LoginsInProgress::new();
        for client in 0..100 {
            logins_in_progress.push(logout(client));
        }
        let mut seen = Vec::new();
        while !logins_in_progress.is_idle() {
            let asked = logins_in_progress.requests();
            assert!((1..=UNDER_WAY_MAX).contains(&asked.len()));
            seen.extend(clients(&asked));
            for (ticket, _) in asked {
                assert!(logins_in_progress.answered(ticket, done()).is_some());
                assert!(logins_in_progress.answered(ticket, done()).is_none(), "an answer counts once");
            }
        }
        assert_eq!(seen, (0..100).collect::<Vec<u128>>());
    }
}
