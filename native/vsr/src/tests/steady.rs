//! Three replicas in normal operation: what one operation costs.

use ng_wire::replica::{
    BodyCheck, DoViewChange, Level, LogOperation, Message, Op, PrepareHeader, Standing, View,
};

use super::hand::{Hand, setup};
use super::merging::{chain, vote};
use crate::{Directory, Effect, Effects, Event, Limits, Recovery, Replica, Request, Setup, Timing};

/// A group of three whose messages arrive at once and whose journals are synced at once.
struct Group {
    replicas: Vec<Replica>,
    effects: Effects,
    waiting: Vec<(usize, Event)>,
    /// Prepares and acknowledgements that went from one node to another.
    sent: u64,
}

impl Group {
    /// In view 1, with an empty log.
    fn new() -> Self {
        let mut effects = Effects::default();
        let replicas = (0..3).map(|replica| {
            let setup = Setup { limits: Limits::default(), timing: Timing::default(), ..setup(replica, 3) };
            let directory: Directory = Recovery::new(&setup, true).finish();
            Replica::open(setup, directory, Hand::NONCE, 0, &mut effects).expect("a sound setup")
        });
        let replicas = replicas.collect();
        effects.drain().for_each(drop);
        let mut group = Self { replicas, effects, waiting: Vec::new(), sent: 0 };
        let log = chain(View(1), 0);
        for from in [0, 1] {
            let vote = DoViewChange { view: View(1), ..vote(&log, View(0), &[] as &[Standing]) };
            group.run(1, Event::Message { from, message: Message::DoViewChange(vote) });
        }
        group.sent = 0;
        group
    }

    fn run(&mut self, to: usize, event: Event) {
        self.waiting.push((to, event));
        while let Some((to, event)) = self.waiting.pop() {
            self.replicas[to].step(event, 0, &mut self.effects);
            for effect in self.effects.drain() {
                match effect {
                    Effect::Send { to: next, message, .. } => {
                        self.sent += u64::from(usize::from(next) != to);
                        let from = u8::try_from(to).expect("three");
                        self.waiting.push((next.into(), Event::Message { from, message }));
                    }
                    Effect::Apply(header) => {
                        self.waiting.push((to, Event::Applied { header, reply: Vec::new() }));
                    }
                    Effect::Append { .. } | Effect::Reply { .. } | Effect::Dropped(_) => {}
                    other => unreachable!("{other:?} in a steady group"),
                }
            }
            // Operations are executed in the order in which they were handed out.
            self.waiting.sort_by_key(|(_, event)| match event {
                Event::Applied { header, .. } => std::cmp::Reverse(header.op),
                _ => std::cmp::Reverse(Op(u64::MAX)),
            });
        }
    }
}

/// The operations; `NG_VSR_OPS` chooses more, to see how long one takes.
fn operations() -> u64 {
    std::env::var("NG_VSR_OPS").ok().and_then(|text| text.parse().ok()).unwrap_or(2_000)
}

#[test]
fn an_operation_costs_four_messages_between_nodes() {
    let mut group = Group::new();
    let request = Request {
        client: 5,
        session: 1,
        request: 1,
        operation: LogOperation::Batch.code(),
        level: Level::Persisted,
        timestamp: 0,
        body_checksum: 9,
        body_check: BodyCheck::Batch,
        body_bytes: 256,
    };
    let operations = operations();
    let begun = std::time::Instant::now();
    (0..operations).for_each(|_| group.run(1, Event::Request(request)));
    let nanos = begun.elapsed().as_nanos() / u128::from(operations);
    println!("{operations} operations on three replicas, {nanos} ns each");
    assert_eq!(group.sent, 4 * operations);
    assert_eq!(group.replicas[1].commit_min(), Op(operations));
    let header: Option<PrepareHeader> = group.replicas[1].anchor();
    assert_eq!(header.map(|header| header.op), Some(Op(operations)));
}
