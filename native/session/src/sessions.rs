//! The sessions of the metadata group: who logged in, and as whom.
//!
//! The same on every replica, for nothing but executed operations moves it. It holds as many sessions as the
//! client table of the group and gives up the same ones: those whose last operation is the oldest.

use std::collections::BTreeMap;

use ng_wire::primitive::{Malformed, Reader, put_count, put_u32, put_u64, put_u128};
use ng_wire::replica::{LogOperation, PrepareHeader};

/// What replies of accepted and of refused operations begin with.
const ACCEPTED: u8 = 0;
const REFUSED: u8 = 1;

/// One session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Session {
    /// Who logged in.
    pub user_id: u32,
    /// The op of the login, which numbers the session.
    pub number: u64,
    /// The op that touched it last.
    touched: u64,
}

/// All sessions.
#[derive(Debug)]
pub struct Sessions {
    slots: usize,
    rows: BTreeMap<u128, Session>,
    /// Clients by the op that touched their session last.
    by_touch: BTreeMap<u64, u128>,
}

impl Sessions {
    /// No session yet, and never more than `slots`.
    pub fn new(slots: usize) -> Self {
        Self { slots, rows: BTreeMap::new(), by_touch: BTreeMap::new() }
    }

    /// How many sessions there are.
    pub fn count(&self) -> usize {
        self.rows.len()
    }

    /// The session of a client.
    pub fn of(&self, client: u128) -> Option<Session> {
        self.rows.get(&client).copied()
    }

    /// Executes an operation; returns the answer if it is a login or a logout.
    pub fn apply(&mut self, header: &PrepareHeader, body: &[u8]) -> Vec<u8> {
        let (client, op) = (header.client, header.op.0);
        match LogOperation::from_code(header.operation) {
            Some(LogOperation::Register) => {
                let user_id = body.try_into().map(u32::from_le_bytes);
                // The client table gives a session to whoever registers, so this does, too; the answer says
                // what is wrong.
                self.open(client, Session { user_id: user_id.unwrap_or(u32::MAX), number: op, touched: op });
                user_id.map_or(vec![REFUSED], |_| vec![ACCEPTED])
            }
            Some(LogOperation::Logout) => {
                self.close(client);
                vec![ACCEPTED]
            }
            Some(LogOperation::Noop) => vec![ACCEPTED],
            _ => {
                self.touch(client, op);
                vec![REFUSED]
            }
        }
    }

    fn open(&mut self, client: u128, session: Session) {
        self.close(client);
        if self.rows.len() >= self.slots
            && let Some((_, oldest)) = self.by_touch.pop_first()
        {
            self.rows.remove(&oldest);
        }
        self.by_touch.insert(session.touched, client);
        self.rows.insert(client, session);
    }

    fn close(&mut self, client: u128) {
        if let Some(session) = self.rows.remove(&client) {
            self.by_touch.remove(&session.touched);
        }
    }

    /// A client was heard of with this operation.
    pub fn touch(&mut self, client: u128, op: u64) {
        if let Some(session) = self.rows.get_mut(&client) {
            self.by_touch.remove(&session.touched);
            session.touched = op;
            self.by_touch.insert(op, client);
        }
    }

    /// Appends the sessions as bytes.
    pub fn encode(&self, into: &mut Vec<u8>) {
        put_count(into, self.rows.len());
        for (client, session) in &self.rows {
            put_u128(into, *client);
            put_u32(into, session.user_id);
            put_u64(into, session.number);
            put_u64(into, session.touched);
        }
    }

    /// Takes over sessions that were encoded; false, and nothing changes, if the bytes are none or too many
    /// for the slots.
    pub fn install(&mut self, bytes: &[u8]) -> bool {
        let Ok(sessions) = self.decode(bytes) else { return false };
        let is_whole = sessions.rows.len() == sessions.by_touch.len() && sessions.rows.len() <= self.slots;
        if is_whole {
            *self = sessions;
        }
        is_whole
    }

    fn decode(&self, bytes: &[u8]) -> Result<Self, Malformed> {
        let mut sessions = Self::new(self.slots);
        let mut reader = Reader::new(bytes);
        for _ in 0..reader.u32()? {
            let client = reader.u128()?;
            let session = Session { user_id: reader.u32()?, number: reader.u64()?, touched: reader.u64()? };
            sessions.by_touch.insert(session.touched, client);
            sessions.rows.insert(client, session);
        }
        reader.finish()?;
        Ok(sessions)
    }
}

/// Whether a reply says that the operation was accepted.
pub fn is_accepted(reply: &[u8]) -> bool {
    reply.first() == Some(&ACCEPTED)
}

#[cfg(test)]
mod tests {
    use ng_vsr::{ClientLimits, ClientTable};
    use ng_wire::replica::Op;
    use proptest::prelude::*;

    use super::*;
    use ng_replication::owner::METADATA;

    const SLOTS: u32 = 3;

    fn header(operation: LogOperation, client: u128, op: u64) -> PrepareHeader {
        PrepareHeader { operation: operation.code(), client, op: Op(op), ..PrepareHeader::root(METADATA, 1) }
    }

    fn run(sessions: &mut Sessions, operation: LogOperation, client: u128, op: u64, body: &[u8]) -> Vec<u8> {
        sessions.apply(&header(operation, client, op), body)
    }

    #[test]
    fn a_login_is_a_session_until_the_logout() {
        let mut sessions = Sessions::new(8);
        assert!(is_accepted(&run(&mut sessions, LogOperation::Register, 7, 1, &5_u32.to_le_bytes())));
        assert_eq!(sessions.of(7).map(|session| (session.user_id, session.number)), Some((5, 1)));
        assert!(is_accepted(&run(&mut sessions, LogOperation::Logout, 7, 2, &[])));
        assert_eq!(sessions.count(), 0);
        assert!(!is_accepted(&run(&mut sessions, LogOperation::Register, 7, 3, &[1])));
        assert!(!is_accepted(&run(&mut sessions, LogOperation::Metadata, 7, 4, &[])));
    }

    #[test]
    fn bytes_that_are_no_state_change_nothing() {
        let mut sessions = Sessions::new(2);
        run(&mut sessions, LogOperation::Register, 7, 1, &[0; 4]);
        let mut whole = Vec::new();
        sessions.encode(&mut whole);
        for length in 0..whole.len() {
            assert!(!sessions.install(&whole[..length]));
        }
        assert!(!Sessions::new(0).install(&whole), "more sessions than there are slots");
        assert_eq!(sessions.count(), 1);
    }

    proptest! {
        /// The same clients keep their sessions here and in the client table, and a snapshot changes nothing
        /// of that.
        #[test]
        fn the_client_table_gives_up_the_same_sessions(
            story in proptest::collection::vec((0_u8..8, 1_u128..7), 1..120),
            restart_at in 0_usize..120,
        ) {
            let limits = ClientLimits { clients: SLOTS, replies: 1, reply_bytes: 16 };
            let mut table = ClientTable::new(limits);
            let mut sessions = Sessions::new(SLOTS as usize);
            for (at, (kind, client)) in story.into_iter().enumerate() {
                let op = at as u64 + 1;
                match kind {
                    0..4 => {
                        run(&mut sessions, LogOperation::Register, client, op, &[0; 4]);
                        table.register(client, Op(op), Vec::new());
                    }
                    4 => {
                        run(&mut sessions, LogOperation::Logout, client, op, &[]);
                        table.remove(client);
                    }
                    _ => {
                        run(&mut sessions, LogOperation::Metadata, client, op, &[]);
                        table.commit(client, op, 0, Op(op), Vec::new());
                    }
                }
                if at == restart_at {
                    let mut bytes = Vec::new();
                    sessions.encode(&mut bytes);
                    sessions = Sessions::new(SLOTS as usize);
                    prop_assert!(sessions.install(&bytes));
                }
                for client in 1..7 {
                    let number = sessions.of(client).map(|session| Op(session.number));
                    prop_assert_eq!(number, table.session(client));
                }
            }
        }
    }
}
