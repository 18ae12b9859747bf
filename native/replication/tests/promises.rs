//! No single fault of a disk makes a node forget its promises to the others: it knows that records are lost,
//! and does not return to a view that it has left.

#![allow(clippy::panic, reason = "a test fails by panicking, whichever function finds the fault")]

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Duration;

use ng_io::simulated::{SimulatedClock, SimulatedDriver};
use ng_io::{Completion, Driver, DriverLimits, Environment, SimulatedEnvironment, Wait};
use ng_partition::PartitionLimits;
use ng_replication::owner::METADATA;
use ng_replication::{
    Executed, GroupLimits, GroupStatus, LogIdentity, LogParts, MetadataMachine, Outgoing, ShardLog,
};
use ng_storage::PAGE;
use ng_storage::block::BlockHeader;
use ng_storage::data_directory::{DataDirectory, Identity, Settings};
use ng_storage::founding::LayoutState;
use ng_storage::home::Home;
use ng_storage::journal::Limits as JournalLimits;
use ng_storage::layout::{JournalName, Member};
use ng_storage::store::StoreLimits;
use ng_storage::superblock::Genesis;
use ng_vsr::{ClientLimits, Limits, Status, Timing};
use ng_wire::replica::{Content, Frame, Message, PrepareHeader, View};

const NODES: u8 = 3;
const MILLI: u64 = 1_000_000;

const SETTINGS: Settings = Settings {
    genesis: Genesis {
        frame_bytes_max: 4096,
        pipeline_depth: 16,
        client_table_slots: 4,
        consumer_offsets_max: 16,
    },
    journal: JournalLimits {
        file_bytes: 128 * 1024,
        files_max: 8,
        block_bytes_target: 32 * 1024,
        queued_bytes_max: 256 * 1024,
        window_max: 1024,
        slots_max: 8 * 1024,
    },
    direct: true,
    first_token: 1,
};

const STORE: StoreLimits = StoreLimits {
    segment_bytes: 64 * 1024,
    flush_bytes: 16 * 1024,
    flush_delay: Duration::from_millis(500),
    plan_bytes_max: 64 * 1024,
    buffered_bytes_max: 1 << 20,
    batch_bytes_max: 32 * 1024,
    lanes: 2,
    retry_delay: Duration::from_millis(100),
};

/// A metadata machine without state.
#[derive(Debug, Default)]
struct Nothing;

impl MetadataMachine for Nothing {
    fn execute(&mut self, _: &PrepareHeader, _: &[u8]) {}

    fn executed(&mut self) -> Option<Executed> {
        None
    }

    fn snapshot(&self, _: &mut Vec<u8>) {}

    fn install(&mut self, bytes: &[u8]) -> bool {
        bytes.is_empty()
    }
}

struct Node {
    machine: SimulatedEnvironment,
    running: Option<(SimulatedDriver, ShardLog<SimulatedEnvironment, Nothing>)>,
    lives: u64,
}

struct Cluster {
    clock: SimulatedClock,
    now: u64,
    nodes: Vec<Node>,
    frames: VecDeque<(u8, u8, Vec<u8>)>,
}

fn home() -> Home {
    Home::new("data")
}

impl Node {
    fn start(&mut self, number: u8) {
        self.lives += 1;
        let founding = self.lives == 1;
        let machine = self.machine.clone();
        self.running = Some(machine.boot(|| open(&machine, number, self.lives, founding)));
    }

    fn stop(&mut self) {
        self.running = None;
        self.machine.kill();
    }

    fn status(&self) -> GroupStatus {
        let (_, log) = self.running.as_ref().expect("it runs");
        log.status(METADATA).expect("it has the group")
    }

    /// Blocks of the journal with their files, oldest first.
    fn blocks(&self) -> Vec<(PathBuf, BlockHeader)> {
        let directory = home().shard(JournalName { epoch: 1, shard: 0 }).directory().to_owned();
        let files = self.machine.file_names().into_iter().filter(|path| path.starts_with(&directory));
        let mut blocks = Vec::new();
        for path in files {
            let bytes = self.machine.file_bytes(&path).unwrap_or_default();
            let found = bytes.chunks(PAGE).filter_map(|page| BlockHeader::decode(page).ok());
            blocks.extend(found.map(|(header, _)| (path.clone(), header)));
        }
        blocks.sort_by_key(|(_, header)| header.sequence);
        blocks
    }
}

fn open(
    machine: &SimulatedEnvironment,
    node: u8,
    incarnation: u64,
    founding: bool,
) -> (SimulatedDriver, ShardLog<SimulatedEnvironment, Nothing>) {
    let directory = DataDirectory::new(machine.clone(), home(), SETTINGS);
    let layout = match directory.layout().expect("a directory") {
        LayoutState::Complete(layout) => layout,
        LayoutState::Nothing => {
            let identity = Identity {
                cluster: 1,
                node: u128::from(node) + 1,
                member: Member { number: node, count: NODES },
            };
            directory.found(identity, 1, &mut || 7).expect("a healthy disk")
        }
    };
    let mut driver = machine.driver(DriverLimits { operations_max: 64, handles_max: 64 }).expect("a driver");
    let shard = directory.open_shard(&mut driver, &layout, 0).expect("a directory");
    let parts = LogParts {
        identity: LogIdentity {
            cluster: 1,
            node,
            nodes: NODES,
            shard: 0,
            shards: 1,
            incarnation,
            timing: Timing::default(),
        },
        limits: GroupLimits {
            log: Limits::default(),
            clients: ClientLimits { clients: 4, ..ClientLimits::default() },
            partition: PartitionLimits::default(),
        },
        shard,
        home: home(),
        journal_limits: SETTINGS.journal,
        store_limits: STORE,
        files_max: 8,
        direct: true,
        checkpoint_period: 3_600_000,
        metadata_state: None,
        expected: vec![(METADATA, 1)],
        founding,
        nonce: 1 + u64::from(node) + incarnation * 16,
        metadata: Nothing,
        first_token: 100,
    };
    let log = ShardLog::start(parts, &driver).expect("it starts");
    (driver, log)
}

impl Cluster {
    fn new(seed: u64) -> Self {
        let clock = SimulatedClock::default();
        let node = |number| Node {
            machine: SimulatedEnvironment::on(&clock, seed << 8 | number),
            running: None,
            lives: 0,
        };
        let nodes = (0..u64::from(NODES)).map(node).collect();
        let mut cluster = Self { clock, now: 0, nodes, frames: VecDeque::new() };
        for number in 0..NODES {
            cluster.nodes[usize::from(number)].start(number);
        }
        cluster
    }

    /// Advances to the next completion of a disk, by at most a millisecond. Delivers frames, and each running
    /// node takes a turn.
    fn pass(&mut self) {
        let running = self.nodes.iter().filter_map(|node| node.running.as_ref());
        let next = running.filter_map(|(driver, _)| driver.next_completion()).min().unwrap_or(u64::MAX);
        self.now = next.clamp(self.now + 1, self.now + MILLI);
        self.clock.advance_to(self.now);
        for (from, to, frame) in std::mem::take(&mut self.frames) {
            if let Some((_, log)) = &mut self.nodes[usize::from(to)].running {
                log.receive(from, &frame);
            }
        }
        for number in 0..NODES {
            let Some((driver, log)) = &mut self.nodes[usize::from(number)].running else { continue };
            let mut completions: Vec<Completion> = Vec::new();
            driver.complete(Wait::Now, &mut completions).expect("it lives");
            for completion in completions {
                log.complete(driver, completion);
            }
            log.turn(driver);
            for left in log.outgoing() {
                match left {
                    Outgoing::Frame { to, mut head, body } => {
                        head.extend_from_slice(body.as_ref().map_or(&[], |body| &body[..]));
                        self.frames.push_back((number, to, head));
                    }
                    Outgoing::Fatal(why) => panic!("node {number} ends: {why:?}"),
                    _ => {}
                }
            }
        }
    }

    fn until(&mut self, what: &str, is_so: impl Fn(&Self) -> bool) {
        for _ in 0..200_000 {
            if is_so(self) {
                return;
            }
            self.pass();
        }
        panic!("it never happens: {what}");
    }

    /// A vote on its way to another node: its sender and view.
    fn vote(&self) -> Option<(usize, View)> {
        let mut votes =
            self.frames.iter().filter_map(|(from, _, bytes)| match Frame::decode(bytes).ok()?.0.content {
                Content::Message(Message::DoViewChange(vote)) => Some((usize::from(*from), vote.view)),
                _ => None,
            });
        votes.next()
    }

    /// A cluster whose first primary has stopped and in which a vote for the next view has just left. Returns
    /// the voter and the view.
    fn voted(seed: u64) -> (Self, usize, View) {
        let mut cluster = Self::new(seed);
        let normal = |cluster: &Self| cluster.nodes.iter().all(|node| node.status().status == Status::Normal);
        cluster.until("all follow one primary", normal);
        let rested = cluster.now + 500 * MILLI;
        cluster.until("all have rested", |cluster| cluster.now > rested);
        let primary = cluster.nodes[0].status().view.0 % u64::from(NODES);
        cluster.nodes[usize::try_from(primary).expect("one of three")].stop();
        cluster.until("a vote leaves", |cluster| cluster.vote().is_some());
        let (voter, view) = cluster.vote().expect("it was seen");
        (cluster, voter, view)
    }
}

/// Stops the voter after its vote, damages its disk with `harm`, and starts it. Returns its status and the
/// view of the vote.
fn after(seed: u64, harm: impl Fn(&mut Node) -> bool) -> Option<(GroupStatus, View)> {
    let (mut cluster, number, view) = Cluster::voted(seed);
    let voter = &mut cluster.nodes[number];
    voter.stop();
    harm(voter).then(|| {
        voter.start(u8::try_from(number).expect("one of three"));
        (voter.status(), view)
    })
}

#[test]
fn a_promise_survives_damage_of_any_byte_of_its_blocks() {
    let mut blank = 0;
    for place in (0..).step_by(7) {
        let harmed = after(place as u64, |voter| {
            let blocks = voter.blocks();
            let newest = &blocks[blocks.len().saturating_sub(3)..];
            // Each header, and for each record its header and a short body; the bytes after these are zero.
            let bytes = newest.iter().flat_map(|(path, header)| {
                let begin = usize::try_from(header.offset).expect("a small file");
                (begin..begin + 256 + 208 * header.records as usize).map(move |at| (path, at))
            });
            let Some((path, at)) = bytes.into_iter().nth(place) else { return false };
            voter.machine.rot(path, at, 1)
        });
        let Some((status, view)) = harmed else { break };
        assert!(
            status.status == Status::Blank || status.view >= view,
            "byte {place}: it promised view {view} and restarted as {status:?}"
        );
        blank += usize::from(status.status == Status::Blank);
    }
    assert!(blank > 0, "no run noticed a lost promise");
}

#[test]
fn a_promise_survives_without_damage() {
    let (status, view) = after(1, |_| true).expect("it starts");
    assert_eq!((status.status, status.view), (Status::ViewChange, view));
}
