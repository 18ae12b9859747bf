//! Random interleavings on socket pairs against a model: no byte lost, moved or made up, no operation lost or
//! told twice.

use std::collections::HashMap;
use std::os::unix::net::UnixStream;

use ng_io::{Buffer, Completion, Driver, Environment, Handle, Operation, Outcome, Token, Wait};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::rig::{PATIENCE, Rig, on_every_backend, rig};

on_every_backend!(interleavings_match_the_model);

const PAIRS: usize = 3;

#[derive(Clone, Copy, Debug)]
enum Step {
    Send { end: usize, len: usize },
    Receive { end: usize, room: usize },
    Close { end: usize },
    Wake,
    Complete,
}

fn step() -> impl Strategy<Value = Step> {
    let end = 0..2 * PAIRS;
    prop_oneof![
        6 => (end.clone(), prop_oneof![1..300_usize, 100_000..600_000_usize])
            .prop_map(|(end, len)| Step::Send { end, len }),
        8 => (end.clone(), prop_oneof![1..64_usize, 1_000..200_000_usize])
            .prop_map(|(end, room)| Step::Receive { end, room }),
        1 => end.prop_map(|end| Step::Close { end }),
        1 => Just(Step::Wake),
        6 => Just(Step::Complete),
    ]
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Send,
    Receive,
}

/// One end of a pair, as far as it can be known from outside.
struct End {
    handle: Handle,
    closed: bool,
    sending: bool,
    receiving: bool,
    /// Bytes handed to `Send` so far, whether or not it has completed; they are a known sequence.
    offered: usize,
    /// Bytes received so far.
    received: usize,
}

struct World<D> {
    rig: Rig<D>,
    ends: Vec<End>,
    pending: HashMap<Token, (usize, Kind)>,
}

/// The byte every end sends at a position of its stream.
fn byte_at(end: usize, position: usize) -> u8 {
    position.wrapping_mul(31).wrapping_add(position >> 8).wrapping_add(end * 97).to_le_bytes()[0]
}

impl<D: Driver> World<D> {
    fn new(mut rig: Rig<D>) -> Self {
        let mut ends = Vec::new();
        for _ in 0..PAIRS {
            let (one, other) = UnixStream::pair().expect("a pair");
            for stream in [one, other] {
                let handle = rig.driver.adopt_socket(stream.into()).expect("room");
                ends.push(End {
                    handle,
                    closed: false,
                    sending: false,
                    receiving: false,
                    offered: 0,
                    received: 0,
                });
            }
        }
        Self { rig, ends, pending: HashMap::new() }
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Send { end, len } if !self.ends[end].sending && !self.ends[end].closed => {
                let start = self.ends[end].offered;
                let bytes: Vec<u8> = (start..start + len).map(|position| byte_at(end, position)).collect();
                self.ends[end].offered += len;
                self.ends[end].sending = true;
                let operation =
                    Operation::Send { socket: self.ends[end].handle, buffer: Buffer::from(bytes) };
                let token = self.rig.submit(operation);
                self.pending.insert(token, (end, Kind::Send));
            }
            Step::Receive { end, room } if !self.ends[end].receiving && !self.ends[end].closed => {
                self.ends[end].receiving = true;
                let buffer = Buffer::with_capacity(room);
                let token =
                    self.rig.submit(Operation::Receive { socket: self.ends[end].handle, buffer, wanted: 0 });
                self.pending.insert(token, (end, Kind::Receive));
            }
            Step::Close { end } => {
                self.ends[end].closed = true;
                self.rig.driver.close(self.ends[end].handle);
            }
            Step::Wake => self.rig.driver.waker().wake(),
            Step::Complete => self.complete(Wait::Now),
            Step::Send { .. } | Step::Receive { .. } => {}
        }
    }

    fn complete(&mut self, wait: Wait) {
        let mut completions = Vec::new();
        self.rig.driver.complete(wait, &mut completions).expect("the driver works");
        for completion in completions {
            self.judge(completion);
        }
    }

    fn judge(&mut self, Completion { token, outcome }: Completion) {
        let (index, kind) = self.pending.remove(&token).expect("submitted, and not completed before");
        let peer = &self.ends[index ^ 1];
        let (peer_offered, peer_closed) = (peer.offered, peer.closed);
        let end = &mut self.ends[index];
        match outcome {
            Outcome::Received { buffer, result } => {
                assert_eq!(kind, Kind::Receive);
                end.receiving = false;
                match result {
                    Ok(count) => {
                        assert_eq!(buffer.len(), count);
                        let expected = (end.received..).map(|position| byte_at(index ^ 1, position));
                        assert!(
                            expected.zip(&buffer[..]).all(|(expected, byte)| expected == *byte),
                            "bytes changed"
                        );
                        end.received += count;
                        assert!(end.received <= peer_offered, "bytes made up");
                        assert!(count > 0 || peer_closed, "an end nobody made");
                    }
                    Err(error) => assert!(end.closed || peer_closed, "{error} without a reason"),
                }
            }
            Outcome::Sent { buffer, result } => {
                assert_eq!(kind, Kind::Send);
                end.sending = false;
                assert!(
                    buffer[..]
                        .iter()
                        .rev()
                        .zip((0..end.offered).rev())
                        .all(|(b, at)| *b == byte_at(index, at))
                );
                if let Err(error) = result {
                    assert!(end.closed || peer_closed, "{error} without a reason");
                }
            }
            other => panic!("nothing else was submitted: {other:?}"),
        }
    }

    /// Reads every open pair empty, then closes all and waits for the last operation.
    fn finish(mut self) {
        let deadline = self.rig.driver.now() + PATIENCE;
        while let Some(end) = (0..self.ends.len()).find(|end| self.lags(*end)) {
            assert!(self.rig.driver.now() < deadline, "bytes are missing at end {end}");
            self.take(Step::Receive { end, room: 65_536 });
            self.complete(Wait::Until(deadline));
        }
        for end in 0..self.ends.len() {
            self.take(Step::Close { end });
        }
        while !self.pending.is_empty() {
            assert!(self.rig.driver.now() < deadline, "{:?} never completed", self.pending);
            self.complete(Wait::Until(deadline));
        }
        let counters = self.rig.driver.counters();
        assert_eq!(counters.operations, counters.completions);
    }

    /// Whether both ends are open and bytes are on their way here.
    fn lags(&self, end: usize) -> bool {
        let (here, peer) = (&self.ends[end], &self.ends[end ^ 1]);
        !here.closed && !peer.closed && here.received < peer.offered
    }
}

fn interleavings_match_the_model<E: Environment>(environment: &E) {
    let mut runner = TestRunner::new(Config { cases: 64, failure_persistence: None, ..Config::default() });
    let run = runner.run(&proptest::collection::vec(step(), 1..150), |steps| {
        let mut world = World::new(rig(environment));
        for step in steps {
            world.take(step);
        }
        world.finish();
        Ok(())
    });
    if let Err(failure) = run {
        panic!("{failure}");
    }
}
