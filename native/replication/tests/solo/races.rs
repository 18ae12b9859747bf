//! Concurrent polls while messages arrive, are written to segments, truncated, purged and compacted, and the
//! process is killed. Each answer must equal the model's state at the start of the poll.

use std::path::PathBuf;
use std::time::Duration;

use ng_io::simulated::Random;
use ng_replication::{Adoption, AdoptionEnd, Poll, PollLimits, PollStrategy};
use ng_storage::segments_file::SegmentEntry;
use ng_wire::replica::{LogOperation, PartitionOp};

use crate::adoption::{job, listed, sealed};
use crate::model::Model;
use crate::rig::{CONSUMER, GROUP, Message, Node, batch, bytes, home, messages, poll};

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
    /// Messages were deleted during the poll.
    loose: bool,
    /// Remaining messages after each replacement of segments during the poll.
    left: Vec<Model>,
}

/// An adoption in progress.
struct ActiveAdoption {
    asker: u64,
    /// Purge generation.
    generation: u64,
    /// Range of offsets of the replaced segments. With `seed` it determines the messages to keep.
    range: (u64, u64),
    seed: u64,
    adoption: Adoption,
}

impl ActiveAdoption {
    const fn keeps(&self, offset: u64) -> bool {
        let (first, last) = self.range;
        offset < first || offset > last || !(offset * 7 + self.seed).is_multiple_of(3)
    }

    /// The list on the disk contains the new segments.
    fn has_happened(&self, node: &Node) -> bool {
        let Some(Ok(PartitionOp::Swap(swap))) = PartitionOp::decode(LogOperation::Swap, &self.adoption.swap)
        else {
            panic!("a good swap")
        };
        let footers: Vec<u128> = sealed(&node.environment).iter().map(|entry| entry.footer).collect();
        swap.outputs().any(|output| footers.contains(&output.footer))
    }
}

struct World {
    node: Node,
    limits: PollLimits,
    model: Model,
    random: Random,
    asked: Vec<Asked>,
    sent: u64,
    answered: usize,
    adopting: Option<ActiveAdoption>,
    adopted: usize,
    story: String,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut node = Node::new(seed);
        let mut random = Random::new(!seed);
        let piece_bytes = one_of(&mut random, &[3_000, 20_000, 1 << 20]);
        let cache_bytes = one_of(&mut random, &[0, 20_000, 1 << 20]);
        let limits = PollLimits { piece_bytes, cache_bytes, ..PollLimits::default() };
        node.log.set_poll_limits(limits);
        let story = format!("seed {seed}");
        Self {
            node,
            limits,
            model: Model::default(),
            random,
            asked: Vec::new(),
            sent: 0,
            answered: 0,
            adopting: None,
            adopted: 0,
            story,
        }
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
        self.receive_message();
        let count = one_of(&mut self.random, &[1, 2, 7, 100, 100_000]);
        let reply_bytes_max = one_of(&mut self.random, &[0, 500, 60_000, 64 << 20]);
        let poll = Poll { reply_bytes_max, ..poll(self.strategy(), count) };
        let stored = self.node.log.stored_offset(GROUP, CONSUMER);
        let expected = self.model.answer(&poll, stored);
        let current = self.model.next_offset().saturating_sub(1);
        let ticket = self.node.begin_poll(poll);
        let before = self.model.clone();
        self.asked.push(Asked { ticket, poll, expected, before, current, loose: false, left: Vec::new() });
    }

    fn receive_message(&mut self) {
        for body in std::mem::take(&mut self.node.executed) {
            self.model.add(&body);
        }
    }

    fn check(&mut self) {
        self.receive_message();
        self.hear_of_adoption();
        let Self { node, asked, answered, story, .. } = self;
        asked.retain(|asked| {
            let Some(answer) = node.take_polled(asked.ticket) else { return true };
            let polled = answer.unwrap_or_else(|refusal| panic!("{story}: {:?}: {refusal:?}", asked.poll));
            let found = messages(&bytes(&polled));
            assert_eq!(found.len(), polled.messages as usize, "{story}: {:?}", asked.poll);
            if asked.loose {
                // The answer contains all messages that a compaction removed, or none of them.
                let mut states = std::iter::once(&asked.before).chain(&asked.left);
                assert!(states.any(|state| state.holds(&found)), "{story}: {:?}", asked.poll);
            } else {
                assert!(found == asked.expected, "{story}: {:?} gave {} messages", asked.poll, found.len());
                assert_eq!(polled.current_offset, asked.current, "{story}");
            }
            *answered += 1;
            false
        });
    }

    /// Begins to adopt compacted segments, unless no message would remain.
    fn adopt(&mut self) {
        let list = home().group(GROUP).segments();
        if self.adopting.is_some() || self.node.environment.file_bytes(&list).is_none() {
            return;
        }
        let sealed = sealed(&self.node.environment);
        let count = 1 + usize::try_from(self.random.below(4)).expect("small");
        let first = usize::try_from(self.random.below(sealed.len() as u64 + 1)).expect("small");
        let Some(run) = sealed.get(first..first + count) else { return };
        let (front, back) = run.split_at(if self.random.flip() { count / 2 } else { 0 });
        let runs: Vec<&[SegmentEntry]> = [front, back].into_iter().filter(|run| !run.is_empty()).collect();
        let range = (run[0].base_offset, run[count - 1].last_offset);
        let adoption = Adoption { swap: Vec::new(), directory: PathBuf::new() };
        let (generation, seed) = (self.model.generation, self.random.below(1_000));
        let mut adopting = ActiveAdoption { asker: 0, generation, range, seed, adoption };
        let survives = |run: &&[SegmentEntry]| {
            let (first, last) = (run[0].base_offset, run[run.len() - 1].last_offset);
            self.model.has_any((first, last), |offset| adopting.keeps(offset))
        };
        if listed(&self.node.environment).purge_generation != generation || !runs.iter().all(survives) {
            return;
        }
        let adoption = job(&self.node.environment, &runs, |offset| adopting.keeps(offset));
        adopting.asker = self.node.begin_adoption(GROUP, adoption.clone());
        self.adopting = Some(ActiveAdoption { adoption, ..adopting });
    }

    fn hear_of_adoption(&mut self) {
        let Some(asker) = self.adopting.as_ref().map(|adopting| adopting.asker) else { return };
        let Some(end) = self.node.take_adopted(asker) else { return };
        match (end, self.adopting.take()) {
            (AdoptionEnd::Done, Some(adopting)) => self.compacted(&adopting),
            (AdoptionEnd::Fenced | AdoptionEnd::Busy, _) => {}
            (other, _) => panic!("{}: {other:?}", self.story),
        }
    }

    fn compacted(&mut self, adopting: &ActiveAdoption) {
        self.adopted += 1;
        for asked in self.asked.iter_mut().filter(|asked| asked.before.generation == adopting.generation) {
            let mut left = asked.left.last().unwrap_or(&asked.before).clone();
            left.compact(|offset| adopting.keeps(offset));
            asked.left.push(left);
            asked.loose = true;
        }
        if self.model.generation == adopting.generation {
            self.model.compact(|offset| adopting.keeps(offset));
        }
    }

    fn loosen(&mut self) {
        self.receive_message();
        self.asked.iter_mut().for_each(|asked| asked.loose = true);
    }

    /// Waits until all sent batches are executed, so that the model knows the position of the next operation.
    fn quiet(&mut self) {
        self.node.rest(Duration::from_millis(40));
        self.check();
    }

    fn act(&mut self) {
        match self.random.below(100) {
            0..40 => self.send(),
            40..80 => self.ask(),
            80..92 => self.node.rest(Duration::from_micros(self.random.below(30_000))),
            92..96 => self.adopt(),
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
        let mut node = self.node.restart_with(self.limits);
        // The model already contains the operations that a start executes again.
        node.executed.clear();
        let mut world = Self { node, ..self };
        if let Some(adopting) = world.adopting.take() {
            // The outcome was not reported before the kill, so the disk decides.
            world.quiet();
            if adopting.has_happened(&world.node) {
                world.compacted(&adopting);
            }
        }
        world
    }

    fn settle(&mut self) {
        for _ in 0..5_000 {
            if self.asked.is_empty() {
                return;
            }
            self.node.turn();
            self.check();
        }
        panic!("{}: {} polls are never answered", self.story, self.asked.len());
    }
}

#[test]
fn each_poll_returns_the_messages_present_at_its_start() {
    let (mut answered, mut adopted) = (0, 0);
    for seed in 0..seeds() {
        let mut world = World::new(seed);
        for _ in 0..3 {
            for _ in 0..120 {
                world.act();
            }
            world.settle();
            world.quiet();
            world.adopt();
            (0..world.random.below(30)).for_each(|_| world.node.turn());
            world.check();
            world = world.restart();
        }
        answered += world.answered;
        adopted += world.adopted as u64;
    }
    assert!(adopted > 2 * seeds(), "{adopted}");
    assert!(answered as u64 > 100 * seeds(), "{answered}");
}
