//! Many polls at a time, while messages come, go to the disk, are truncated and purged, and the process is killed. Each
//! answer is what the model had when the poll began.

use std::time::Duration;

use ng_io::simulated::Random;
use ng_shard::log::{Poll, PollLimits, PollStrategy};
use ng_wire::replica::{LogOperation, PartitionOp};

use crate::model::Model;
use crate::rig::{CONSUMER, GROUP, Message, Node, batch, bytes, messages, poll};

fn seeds() -> u64 {
    std::env::var("NG_POLL_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(40)
}

fn one_of<T: Copy>(random: &mut Random, of: &[T]) -> T {
    of[usize::try_from(random.below(of.len() as u64)).expect("small")]
}

struct Asked {
    ticket: u64,
    poll: Poll,
    expected: Vec<Message>,
    before: Model,
    current: u64,
    /// Messages went while it was under way.
    loose: bool,
}

struct World {
    node: Node,
    model: Model,
    random: Random,
    asked: Vec<Asked>,
    sent: u64,
    answered: usize,
    what: String,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut node = Node::new(seed);
        let mut random = Random::new(!seed);
        let piece_bytes = one_of(&mut random, &[3_000, 20_000, 1 << 20]);
        let cache_bytes = one_of(&mut random, &[0, 20_000, 1 << 20]);
        node.log.set_poll_limits(PollLimits { piece_bytes, cache_bytes, ..PollLimits::default() });
        let what = format!("seed {seed}");
        Self { node, model: Model::default(), random, asked: Vec::new(), sent: 0, answered: 0, what }
    }

    fn send(&mut self) {
        let count = 1 + self.random.below(6);
        let longest = one_of(&mut self.random, &[10, 300, 5_000, 40_000]);
        let sizes: Vec<usize> =
            (0..count).map(|_| usize::try_from(self.random.below(longest)).expect("small")).collect();
        self.node.begin(LogOperation::Batch, &batch(self.sent, &sizes));
        self.sent += count;
    }

    fn strategy(&mut self) -> PollStrategy {
        let next = self.model.next_offset();
        match self.random.below(6) {
            0 => PollStrategy::First,
            1 => PollStrategy::Last,
            2 => PollStrategy::Next,
            3 => {
                let number = self.random.below(self.model.len() as u64 + 1);
                let time = self.model.time(usize::try_from(number).expect("small"));
                PollStrategy::Timestamp(time + self.random.below(2))
            }
            _ => PollStrategy::Offset(self.random.below(next + 3)),
        }
    }

    fn ask(&mut self) {
        self.hear();
        let count = one_of(&mut self.random, &[1, 2, 7, 100, 100_000]);
        let reply_bytes_max = one_of(&mut self.random, &[0, 500, 60_000, 64 << 20]);
        let poll = Poll { reply_bytes_max, ..poll(self.strategy(), count) };
        let stored = self.node.log.stored_offset(GROUP, CONSUMER);
        let expected = self.model.answer(&poll, stored);
        let current = self.model.next_offset().saturating_sub(1);
        let ticket = self.node.begin_poll(poll);
        let before = self.model.clone();
        self.asked.push(Asked { ticket, poll, expected, before, current, loose: false });
    }

    fn hear(&mut self) {
        for body in std::mem::take(&mut self.node.executed) {
            self.model.add(&body);
        }
    }

    fn check(&mut self) {
        self.hear();
        let Self { node, asked, answered, what, .. } = self;
        asked.retain(|asked| {
            let Some(answer) = node.take_polled(asked.ticket) else { return true };
            let polled = answer.unwrap_or_else(|refusal| panic!("{what}: {:?}: {refusal:?}", asked.poll));
            let found = messages(&bytes(&polled));
            assert_eq!(found.len(), polled.messages as usize, "{what}: {:?}", asked.poll);
            if asked.loose {
                assert!(asked.before.holds(&found), "{what}: {:?}", asked.poll);
            } else {
                assert!(found == asked.expected, "{what}: {:?} gave {} messages", asked.poll, found.len());
                assert_eq!(polled.current_offset, asked.current, "{what}");
            }
            *answered += 1;
            false
        });
    }

    fn loosen(&mut self) {
        self.hear();
        self.asked.iter_mut().for_each(|asked| asked.loose = true);
    }

    /// Lets what was sent be executed, so that the model knows where an operation stands among the batches.
    fn quiet(&mut self) {
        self.node.rest(Duration::from_millis(40));
        self.check();
    }

    fn act(&mut self) {
        match self.random.below(100) {
            0..40 => self.send(),
            40..80 => self.ask(),
            80..96 => self.node.rest(Duration::from_micros(self.random.below(30_000))),
            96 => {
                let offset = self.random.below(self.model.next_offset() + 1);
                self.quiet();
                self.loosen();
                self.node.op(PartitionOp::TruncatePrefix { offset });
                self.model.first = self.model.first.max(offset);
            }
            97 if self.random.below(4) == 0 => {
                self.quiet();
                self.loosen();
                let generation = self.model.generation + 1;
                self.node.op(PartitionOp::Purge { generation });
                self.model.purge();
            }
            _ => {
                let offset = self.random.below(self.model.next_offset() + 1);
                self.node.log.store_ahead(GROUP, CONSUMER, Some(offset));
            }
        }
        self.check();
    }

    fn restart(self) -> Self {
        let mut node = self.node.restart();
        // What is executed again is known already.
        node.executed.clear();
        Self { node, ..self }
    }

    fn settle(&mut self) {
        for _ in 0..5_000 {
            if self.asked.is_empty() {
                return;
            }
            self.node.turn();
            self.check();
        }
        panic!("{}: {} polls are never answered", self.what, self.asked.len());
    }
}

#[test]
fn each_poll_answers_what_was_there_when_it_began() {
    let mut answered = 0;
    for seed in 0..seeds() {
        let mut world = World::new(seed);
        for _ in 0..3 {
            for _ in 0..120 {
                world.act();
            }
            world.settle();
            world.quiet();
            world = world.restart();
        }
        answered += world.answered;
    }
    assert!(answered as u64 > 100 * seeds(), "{answered}");
}
