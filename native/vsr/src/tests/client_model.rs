//! The client table against one that is a list and nothing else.

use ng_wire::primitive::Malformed;
use ng_wire::replica::Op;
use proptest::prelude::*;

use crate::{ClientLimits, ClientTable, Lookup, TableRefusal};

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

    fn look_up(&mut self, client: u128, session: u64, request: u64, stamp: u128) -> String {
        let Some(known) = self.of(client).filter(|known| known.session == session) else {
            return "none".into();
        };
        let last = known.replies.last().map_or(0, |(request, _)| *request);
        if request > last {
            return "new".into();
        }
        let kept = known.replies.iter().rev().take(LIMITS.replies).find(|(known, _)| *known == request);
        match kept {
            Some(_) if stamp != stamp_of(request) => "superseded".into(),
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

/// What the body of a request hashes to.
fn stamp_of(request: u64) -> u128 {
    u128::from(request) << 64
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
                    table.commit(client, request, stamp_of(request), Op(op), reply(op));
                }
                Step::Logout(client) => {
                    table.remove(client);
                    model.0.retain(|session| session.client != client);
                }
                Step::LookUp(client, session, request) => {
                    let stamp = stamp_of(request) + u128::from(op % 3 == 0);
                    let found = described(table.look_up(client, session, request, stamp));
                    prop_assert_eq!(found, model.look_up(client, session, request, stamp));
                    let recalled = described(table.recall(client, session, request));
                    prop_assert_eq!(recalled, model.look_up(client, session, request, stamp_of(request)));
                }
            }
            prop_assert_eq!(table.len(), model.0.len());
            for known in model.0.clone() {
                prop_assert_eq!(table.session(known.client), Some(Op(known.session)));
                for (request, _) in known.replies {
                    let stamp = stamp_of(request);
                    let found = described(table.look_up(known.client, known.session, request, stamp));
                    prop_assert_eq!(found, model.look_up(known.client, known.session, request, stamp));
                }
            }
        }
    }

    #[test]
    fn the_same_operations_make_the_same_table(steps in prop::collection::vec(step(), 1..60)) {
        prop_assert_eq!(filled(&steps), filled(&steps));
    }
}

/// What the steps leave, each with the op of its place.
fn filled(steps: &[Step]) -> ClientTable {
    let mut table = ClientTable::new(LIMITS);
    for ((step, op), request) in steps.iter().zip(1_u64..).zip(1_u64..) {
        match step {
            Step::Register(client) => {
                table.register(*client, Op(op), reply(op));
            }
            Step::Commit(client, _) => table.commit(*client, request, stamp_of(request), Op(op), reply(op)),
            Step::Logout(client) => table.remove(*client),
            Step::LookUp(..) => {}
        }
    }
    table
}

fn encoded(table: &ClientTable) -> Vec<u8> {
    let mut bytes = Vec::new();
    table.encode(&mut bytes);
    bytes
}

proptest! {
    #[test]
    fn a_table_is_read_as_it_was_written(steps in prop::collection::vec(step(), 1..60)) {
        let table = filled(&steps);
        let bytes = encoded(&table);
        let read = ClientTable::decode(&bytes, LIMITS);
        prop_assert_eq!(read.as_ref(), Ok(&table));
        prop_assert_eq!(&encoded(&read.expect("a table")), &bytes);
        for length in 0..bytes.len() {
            prop_assert!(ClientTable::decode(&bytes[..length], LIMITS).is_err(), "{length} bytes");
        }
    }

    #[test]
    fn tables_are_equal_if_their_bytes_are(
        one in prop::collection::vec(step(), 1..12),
        other in prop::collection::vec(step(), 1..12),
    ) {
        let (one, other) = (filled(&one), filled(&other));
        prop_assert_eq!(one == other, encoded(&one) == encoded(&other));
    }

    /// Whatever is taken is written back as it came, and goes on like any other table.
    #[test]
    fn changed_bytes_are_refused_or_another_table(
        steps in prop::collection::vec(step(), 1..40),
        changes in prop::collection::vec((8..400_usize, 0..6_u8), 1..4),
    ) {
        let mut bytes = encoded(&filled(&steps));
        let length = bytes.len();
        for (at, value) in changes {
            bytes[at % length] = value;
        }
        if let Ok(mut table) = ClientTable::decode(&bytes, LIMITS) {
            prop_assert_eq!(encoded(&table), bytes);
            prop_assert!(table.len() <= LIMITS.clients as usize);
            for client in 1..9_u8 {
                table.register(client.into(), Op(u64::MAX - 9 + u64::from(client)), Vec::new());
            }
            prop_assert_eq!(table.len(), LIMITS.clients as usize);
        }
    }
}

#[test]
fn what_no_history_leaves_is_refused() {
    let mut table = ClientTable::new(LIMITS);
    table.register(1, Op(1), vec![1; 4]);
    table.register(2, Op(2), vec![2; 5]);
    table.commit(2, 7, 9, Op(3), Vec::new());
    let bytes = encoded(&table);
    let change = |at: usize, value: u8| {
        let mut bytes = bytes.clone();
        bytes[at] = value;
        ClientTable::decode(&bytes, LIMITS).err()
    };
    let entry = 24;
    let second = entry + 44 + 40;
    assert_eq!(change(0, 0), Some(TableRefusal::Malformed(Malformed::Value(u32::from(bytes[0]) & !255))));
    assert_eq!(change(8, 4), Some(TableRefusal::Limits), "other limits");
    assert_eq!(change(20, 4), Some(TableRefusal::Limits), "more clients than there may be");
    assert_eq!(change(20, 3), Some(TableRefusal::Malformed(Malformed::Short { missing: 16 })));
    assert_eq!(
        change(20, 1),
        Some(TableRefusal::Malformed(Malformed::Trailing { extra: bytes.len() - second }))
    );
    assert_eq!(change(entry, 0), Some(TableRefusal::Client(0)));
    assert_eq!(change(second, 1), Some(TableRefusal::Client(1)), "twice");
    assert_eq!(change(entry + 16, 0), Some(TableRefusal::Client(1)), "no session");
    assert_eq!(change(entry + 40, 3), Some(TableRefusal::Client(1)), "more replies than are kept");
    assert_eq!(change(entry + 44 + 32, 5), Some(TableRefusal::Client(1)), "a reply longer than any kept");
    assert_eq!(change(entry + 44 + 16, 5), Some(TableRefusal::Client(1)), "a registration with a stamp");
    assert_eq!(
        change(second + 24, 2),
        Some(TableRefusal::Client(2)),
        "a request at the op of the registration"
    );
    assert_eq!(
        change(second + 32, 6),
        Some(TableRefusal::Client(2)),
        "the last reply answers another request"
    );
}

#[test]
fn replies_that_contradict_each_other_are_refused() {
    let mut table = ClientTable::new(LIMITS);
    table.register(1, Op(1), Vec::new());
    table.commit(1, 3, 0, Op(2), Vec::new());
    table.commit(1, 5, 0, Op(9), Vec::new());
    let bytes = encoded(&table);
    let (session, first) = (40, 68);
    for (at, value, why) in [
        (first, 5, "two replies to one request"),
        (first + 8, 9, "two requests at one op"),
        (session, 2, "a request at the op of the registration"),
        (session, 4, "a request before the registration"),
        (session, 0, "no session"),
    ] {
        let mut changed = bytes.clone();
        changed[at] = value;
        assert_eq!(ClientTable::decode(&changed, LIMITS).err(), Some(TableRefusal::Client(1)), "{why}");
    }
}

#[test]
fn a_table_of_other_limits_is_refused() {
    let bytes = encoded(&ClientTable::new(LIMITS));
    for other in [
        ClientLimits { clients: 4, ..LIMITS },
        ClientLimits { replies: 3, ..LIMITS },
        ClientLimits { reply_bytes: 5, ..LIMITS },
    ] {
        assert_eq!(ClientTable::decode(&bytes, other).err(), Some(TableRefusal::Limits), "{other:?}");
    }
}

#[test]
fn a_table_counts_its_own_bytes_alone() {
    let mut table = ClientTable::new(LIMITS);
    assert!(table.is_empty());
    table.register(1, Op(1), vec![1; 4]);
    assert!(!table.is_empty());
    let mut bytes = vec![7; 3];
    table.encode(&mut bytes);
    assert_eq!(bytes[3..], encoded(&table));
}

#[test]
fn a_refusal_says_what_is_wrong() {
    assert_eq!(TableRefusal::Limits.to_string(), "a client table of other limits");
    assert_eq!(
        TableRefusal::Client(10).to_string(),
        format!("the entry of client {:032x} contradicts itself", 10)
    );
    let malformed = Malformed::Short { missing: 16 };
    assert_eq!(TableRefusal::from(malformed).to_string(), malformed.to_string());
}

#[test]
fn an_empty_table_of_many_places_takes_none() {
    let table = ClientTable::new(ClientLimits::default());
    assert_eq!((table.heap_places(), encoded(&table).len()), (0, 24));
}

#[test]
#[should_panic(expected = "executed twice")]
fn a_repeated_request_is_never_recorded() {
    let mut table = ClientTable::new(LIMITS);
    table.register(1, Op(1), Vec::new());
    table.commit(1, 5, 0, Op(2), Vec::new());
    table.commit(1, 5, 0, Op(3), Vec::new());
}
