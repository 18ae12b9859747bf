//! The client table against one that is a list and nothing else.

use ng_wire::replica::Op;
use proptest::prelude::*;

use crate::{ClientLimits, ClientTable, Lookup};

const LIMITS: ClientLimits = ClientLimits { clients: 3, replies: 2, reply_bytes: 4 };

#[derive(Clone, Debug)]
enum Step {
    Register(u128),
    Commit(u128, u64),
    Logout(u128),
    LookUp(u128, u64, u64),
}

fn step() -> impl Strategy<Value = Step> {
    let client = 1..6_u128;
    prop_oneof![
        client.clone().prop_map(Step::Register),
        (client.clone(), 1..4_u64).prop_map(|(client, skip)| Step::Commit(client, skip)),
        client.clone().prop_map(Step::Logout),
        (client, 0..40_u64, 0..12_u64)
            .prop_map(|(client, session, request)| Step::LookUp(client, session, request)),
    ]
}

#[derive(Clone, Debug)]
struct Session {
    client: u128,
    session: u64,
    commit: u64,
    /// Every request that was executed, with its reply, oldest first.
    replies: Vec<(u64, Vec<u8>)>,
}

/// Sessions in no order.
#[derive(Debug, Default)]
struct Model(Vec<Session>);

impl Model {
    fn register(&mut self, client: u128, op: u64, reply: Vec<u8>) -> Option<u128> {
        self.0.retain(|session| session.client != client);
        let oldest = self.0.iter().min_by_key(|session| session.commit).map(|session| session.client);
        let evicted = oldest.filter(|_| self.0.len() == LIMITS.clients as usize);
        self.0.retain(|session| Some(session.client) != evicted);
        self.0.push(Session { client, session: op, commit: op, replies: vec![(0, reply)] });
        evicted
    }

    fn of(&mut self, client: u128) -> Option<&mut Session> {
        self.0.iter_mut().find(|session| session.client == client)
    }

    fn look_up(&mut self, client: u128, session: u64, request: u64) -> String {
        let Some(known) = self.of(client).filter(|known| known.session == session) else {
            return "none".into();
        };
        let last = known.replies.last().map_or(0, |(request, _)| *request);
        if request > last {
            return "new".into();
        }
        let kept = known.replies.iter().rev().take(LIMITS.replies).find(|(known, _)| *known == request);
        match kept {
            Some((_, reply)) if reply.len() <= LIMITS.reply_bytes => format!("{reply:?}"),
            _ => "superseded".into(),
        }
    }
}

fn described(lookup: Lookup<'_>) -> String {
    match lookup {
        Lookup::New => "new".into(),
        Lookup::Replay(reply) => format!("{:?}", reply.bytes.as_ref().expect("a kept reply")),
        Lookup::Superseded => "superseded".into(),
        Lookup::NoSession => "none".into(),
    }
}

/// A reply that is too long to be kept now and then.
fn reply(op: u64) -> Vec<u8> {
    vec![op.to_le_bytes()[0]; usize::try_from(op % 6).expect("small")]
}

proptest! {
    #[test]
    fn the_table_is_the_list(steps in prop::collection::vec(step(), 1..60)) {
        let (mut table, mut model) = (ClientTable::new(LIMITS), Model::default());
        for (step, op) in steps.into_iter().zip(1_u64..) {
            match step {
                Step::Register(client) => {
                    prop_assert_eq!(table.register(client, Op(op), reply(op)), model.register(client, op, reply(op)));
                }
                Step::Commit(client, skip) => {
                    let Some(session) = model.of(client) else { continue };
                    let request = session.replies.last().map_or(0, |(request, _)| *request) + skip;
                    session.replies.push((request, reply(op)));
                    session.commit = op;
                    table.commit(client, request, Op(op), reply(op));
                }
                Step::Logout(client) => {
                    table.remove(client);
                    model.0.retain(|session| session.client != client);
                }
                Step::LookUp(client, session, request) => {
                    prop_assert_eq!(described(table.look_up(client, session, request)), model.look_up(client, session, request));
                }
            }
            prop_assert_eq!(table.len(), model.0.len());
            for known in model.0.clone() {
                prop_assert_eq!(table.session(known.client), Some(Op(known.session)));
                for (request, _) in known.replies {
                    let found = described(table.look_up(known.client, known.session, request));
                    prop_assert_eq!(found, model.look_up(known.client, known.session, request));
                }
            }
        }
    }

    #[test]
    fn the_same_operations_make_the_same_table(steps in prop::collection::vec(step(), 1..60)) {
        let run = || {
            let mut table = ClientTable::new(LIMITS);
            let mut last = 0;
            for (step, op) in steps.iter().zip(1_u64..) {
                match step {
                    Step::Register(client) => { table.register(*client, Op(op), reply(op)); }
                    Step::Commit(client, _) => {
                        last += 1;
                        table.commit(*client, last, Op(op), reply(op));
                    }
                    Step::Logout(client) => table.remove(*client),
                    Step::LookUp(..) => {}
                }
            }
            table
        };
        prop_assert_eq!(run(), run());
    }
}

#[test]
#[should_panic(expected = "executed twice")]
fn a_repeated_request_is_never_recorded() {
    let mut table = ClientTable::new(LIMITS);
    table.register(1, Op(1), Vec::new());
    table.commit(1, 5, Op(2), Vec::new());
    table.commit(1, 5, Op(3), Vec::new());
}
