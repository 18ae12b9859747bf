//! A standalone node whose journal lost acknowledged operations: it refuses to start, an operator accepts the
//! loss by name, and it continues. No offset is given twice, for any damage and any time of a power failure.

#![allow(clippy::panic, reason = "a test fails by panicking, whichever function finds the fault")]

use std::path::PathBuf;
use std::time::Duration;

use ng_io::simulated::SimulatedDriver;
use ng_io::{Chunk, Driver, DriverLimits, Environment, SimulatedEnvironment, Wait};
use ng_partition::PartitionLimits;
use ng_replication::owner::METADATA;
use ng_replication::{
    Executed, GroupLimits, LogAnswer, LogIdentity, LogParts, LogRefusal, LogRequest, MetadataMachine,
    Outgoing, ShardLog, Ticket,
};
use ng_storage::accepted_loss::{Lost, OFFSETS_SKIPPED, accept, losses};
use ng_storage::boot::BootError;
use ng_storage::data_directory::{DataDirectory, Identity, Settings};
use ng_storage::founding::LayoutState;
use ng_storage::home::Home;
use ng_storage::journal::Limits as JournalLimits;
use ng_storage::layout::{JournalName, Member};
use ng_storage::store::StoreLimits;
use ng_storage::superblock::Genesis;
use ng_vsr::{ClientLimits, Limits, Timing};
use ng_wire::batch::build;
use ng_wire::replica::{Level, LogOperation, PrepareHeader};

const PARTITIONS: [u64; 2] = [0x1001, 0x1002];
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
struct Nothing(Vec<PrepareHeader>);

impl MetadataMachine for Nothing {
    fn execute(&mut self, header: &PrepareHeader, _: &[u8]) {
        self.0.insert(0, *header);
    }

    fn executed(&mut self) -> Option<Executed> {
        self.0.pop().map(|header| Executed { header, reply: Vec::new() })
    }

    fn snapshot(&self, _: &mut Vec<u8>) {}

    fn install(&mut self, bytes: &[u8]) -> bool {
        bytes.is_empty()
    }
}

#[derive(Debug)]
#[allow(dead_code, reason = "shown by a failing test")]
enum Refused {
    Directory(BootError),
    Log(LogRefusal),
}

/// A process on a simulated machine.
struct Process {
    driver: SimulatedDriver,
    log: ShardLog<SimulatedEnvironment, Nothing>,
}

fn home() -> Home {
    Home::new("data")
}

fn start(environment: &SimulatedEnvironment) -> Result<Process, Refused> {
    let directory = DataDirectory::new(environment.clone(), home(), SETTINGS);
    let layout = match directory.layout().map_err(Refused::Directory)? {
        LayoutState::Complete(layout) => layout,
        LayoutState::Nothing => directory
            .found(Identity { cluster: 1, node: 2, member: Member::STANDALONE }, 1, &mut || 7)
            .map_err(Refused::Directory)?,
    };
    let mut driver =
        environment.driver(DriverLimits { operations_max: 64, handles_max: 64 }).expect("a driver");
    let shard = directory.open_shard(&mut driver, &layout, 0).map_err(Refused::Directory)?;
    let kept = shard.entries.iter().find(|entry| entry.group == METADATA).map(|entry| entry.anchor.op);
    let metadata_state = kept
        .map(|op| directory.metadata_state(&mut driver, METADATA, op))
        .transpose()
        .map_err(Refused::Directory)?;
    let parts = LogParts {
        identity: LogIdentity {
            cluster: 1,
            node: 0,
            nodes: 1,
            shard: 0,
            shards: 1,
            incarnation: shard.superblock.incarnation,
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
        metadata_state,
        expected: PARTITIONS.into_iter().chain([METADATA]).map(|group| (group, 1)).collect(),
        founding: true,
        nonce: 1,
        metadata: Nothing::default(),
        first_token: 100,
    };
    let log = ShardLog::start(parts, &driver).map_err(Refused::Log)?;
    Ok(Process { driver, log })
}

impl Process {
    fn turn(&mut self) -> Vec<Outgoing> {
        let mut completions = Vec::new();
        let soon = self.driver.now() + Duration::from_millis(1);
        self.driver.complete(Wait::Until(soon), &mut completions).expect("it lives");
        for completion in completions {
            self.log.complete(&mut self.driver, completion);
        }
        self.log.turn(&mut self.driver);
        let left: Vec<Outgoing> = self.log.outgoing().collect();
        assert!(!left.iter().any(|one| matches!(one, Outgoing::Fatal(_))), "{left:?}");
        left
    }

    /// Repeats a request until it is executed; returns the op.
    fn ask(&mut self, group: u64, operation: LogOperation, client: u128, body: &[u8]) -> u64 {
        let mut asked = false;
        for _ in 0..10_000 {
            if !asked {
                let (session, request) = (0, 0);
                let (level, body) = (Level::Persisted, body.to_vec());
                self.log.request(
                    Ticket(1),
                    LogRequest { group, client, session, request, operation, level, body: body.into() },
                );
                asked = true;
            }
            for left in self.turn() {
                match left {
                    Outgoing::Answer { answer: LogAnswer::Done { op, .. }, .. } => return op.0,
                    Outgoing::Answer { answer: LogAnswer::Busy | LogAnswer::NotPrimary, .. } => asked = false,
                    Outgoing::Answer { answer, .. } => panic!("{answer:?}"),
                    _ => {}
                }
            }
        }
        panic!("no answer of {group:x}: {:?} {:?} asked {asked}", self.log.status(group), self.log.counts());
    }

    /// Logs a client in; returns the number of its session.
    fn log_in(&mut self, client: u128) -> u64 {
        self.ask(METADATA, LogOperation::Register, client, &[]) + self.log.sessions_passed_over()
    }

    /// The answer to a logout.
    fn log_out(&mut self, client: u128, session: u64) -> LogAnswer {
        let (operation, level, request) = (LogOperation::Logout, Level::Persisted, u64::MAX);
        let logout = LogRequest {
            group: METADATA,
            client,
            session,
            request,
            operation,
            level,
            body: Chunk::default(),
        };
        self.log.request(Ticket(2), logout);
        for _ in 0..10_000 {
            for left in self.turn() {
                if let Outgoing::Answer { ticket: Ticket(2), answer } = left {
                    return answer;
                }
            }
        }
        panic!("no answer to a logout");
    }

    /// Sends a login, and three messages to each partition; returns the last offsets.
    fn work(&mut self, client: u128) -> [u64; 2] {
        self.log_in(client);
        PARTITIONS.map(|group| {
            self.ask(group, LogOperation::Batch, client, &build(1, &[b"one", b"two", b"three"]));
            self.log.partition(group).and_then(|state| state.last_offset).expect("messages")
        })
    }

    fn rest(&mut self) {
        for _ in 0..2_000 {
            self.turn();
        }
    }

    fn stop(mut self) {
        self.log.begin_stop();
        while !self.log.is_stopped() {
            self.turn();
        }
    }
}

fn marker() -> PathBuf {
    home().shard(JournalName { epoch: 1, shard: 0 }).accepted_loss()
}

fn journal() -> PathBuf {
    home().shard(JournalName { epoch: 1, shard: 0 }).directory().join("journal-00000000")
}

/// A machine whose process was killed after some work, with the last offsets of its partitions.
fn worked() -> (SimulatedEnvironment, [u64; 2]) {
    let environment = SimulatedEnvironment::new(5);
    let mut process = start(&environment).expect("a new directory");
    let mut last = [0, 0];
    for client in 1..5 {
        last = process.work(client);
    }
    process.rest();
    drop(process);
    environment.kill();
    (environment, last)
}

/// Positions in the journal to damage: a byte of each block's header and directory, and some bytes of its
/// bodies.
fn places(environment: &SimulatedEnvironment) -> Vec<usize> {
    let bytes = environment.file_bytes(&journal()).expect("a journal");
    let is_block = |at: &usize| bytes[at + 16..].starts_with(b"NGBLOCK");
    let blocks: Vec<usize> = (0..bytes.len()).step_by(ng_storage::PAGE).filter(is_block).collect();
    let mut places: Vec<usize> = blocks.iter().map(|at| at + 40).collect();
    places.extend(blocks.iter().map(|at| at + 256 + 50));
    for at in blocks {
        let records = usize::from(bytes[at + 112]);
        let bodies = (at + 256 + 160 * records..at + ng_storage::PAGE).step_by(40);
        places.extend(bodies.filter(|at| bytes[*at] != 0));
    }
    places
}

fn names(environment: &SimulatedEnvironment) -> Vec<String> {
    let found = losses(environment, &home()).expect("a directory");
    environment.kill();
    let Lost { losses: found, .. } = found;
    assert!(found.iter().all(|loss| loss.acceptable && !loss.name.contains(' ')), "{found:?}");
    found.into_iter().map(|loss| loss.name).collect()
}

fn grown(before: [u64; 2], after: [u64; 2]) -> bool {
    before.iter().zip(after).all(|(before, after)| *before + 3 <= after)
}

#[test]
fn a_node_continues_after_a_loss_was_accepted_by_name() {
    let (whole, _) = worked();
    let (mut refused, mut named) = (0, Vec::new());
    for place in places(&whole) {
        let (environment, last) = worked();
        assert!(environment.rot(&journal(), place, 1));
        let reported = match start(&environment) {
            Ok(mut process) => {
                assert!(grown(last, process.work(9)), "byte {place}");
                continue;
            }
            Err(Refused::Directory(BootError::Lost { losses, .. })) => {
                losses.into_iter().map(|loss| loss.name).collect::<Vec<_>>()
            }
            Err(other) => panic!("byte {place}: {other:?}"),
        };
        environment.kill();
        refused += 1;
        let names = names(&environment);
        assert_eq!(names, reported);
        let others = [&names[1..], &[names.as_slice(), &["shard-0.block-1000".to_owned()]].concat()[..]]
            .map(<[_]>::to_vec);
        for other in others {
            let refusal = accept(&environment, &home(), &other).expect_err("another loss");
            let sentence = refusal.to_string();
            let BootError::OtherLoss { losses, .. } = refusal else { panic!("{refusal}") };
            let is_named = |path: &PathBuf| sentence.contains(&format!("(in {})", path.display()));
            assert!(losses.iter().filter_map(|loss| loss.file.as_ref()).all(is_named), "{sentence}");
            assert_eq!(losses.into_iter().map(|loss| loss.name).collect::<Vec<_>>(), names);
            environment.kill();
        }
        assert!(environment.file_bytes(&marker()).is_none());
        accept(&environment, &home(), &names).expect("exactly the losses");
        environment.kill();

        let mut process = start(&environment).unwrap_or_else(|refused| panic!("{names:?}: {refused:?}"));
        let first = process.work(9);
        assert!(grown(last, first), "{names:?}: {last:?} {first:?}");
        drop(process);
        environment.cut_power();
        let mut process = start(&environment).unwrap_or_else(|refused| panic!("{names:?}: {refused:?}"));
        let second = process.work(10);
        assert!(grown(first, second), "{names:?}: {first:?} {second:?}");
        process.stop();
        environment.kill();
        let mut process = start(&environment).expect("no loss remains");
        assert!(environment.file_bytes(&marker()).is_none(), "a newer manifest is in force");
        let third = process.work(11);
        assert!(grown(second, third));
        assert!(
            third.iter().all(|last| *last < OFFSETS_SKIPPED + 1_000),
            "offsets are skipped only once: {third:?}"
        );
        drop(process);
        environment.kill();
        assert_eq!(losses(&environment, &home()), Ok(Lost::default()));
        named.extend(names);
    }
    assert!(refused > 10, "{refused}");
    for part in [".block-", ".ops-", ".open", ".view"] {
        assert!(named.iter().any(|name| name.contains(part)), "{part}: {named:?}");
    }
}

#[test]
fn no_session_gets_the_number_of_one_that_was_lost() {
    let (whole, _) = worked();
    let mut refused = 0;
    for place in places(&whole).into_iter().step_by(2) {
        let environment = SimulatedEnvironment::new(5);
        let mut process = start(&environment).expect("a new directory");
        let mut given: Vec<u64> = (1..5).map(|client| process.log_in(client)).collect();
        process.rest();
        drop(process);
        environment.kill();
        assert!(environment.rot(&journal(), place, 1));
        if let Err(refusal) = start(&environment) {
            assert!(
                matches!(refusal, Refused::Directory(BootError::Lost { .. })),
                "byte {place}: {refusal:?}"
            );
            environment.kill();
            accept(&environment, &home(), &names(&environment)).expect("exactly the losses");
            refused += 1;
        }
        environment.kill();
        for life in 0..3 {
            let mut process = start(&environment).expect("it was accepted, or is not lost");
            let session = process.log_in(1);
            assert!(!given.contains(&session), "byte {place}, life {life}: {session} was given before");
            let old = given[3];
            assert_eq!(process.log_out(1, old), LogAnswer::NoSession, "byte {place}, life {life}");
            assert!(
                matches!(process.log_out(1, session), LogAnswer::Done { .. }),
                "byte {place}, life {life}"
            );
            given.push(session);
            if life == 0 {
                drop(process);
                environment.cut_power();
            } else {
                process.stop();
                environment.kill();
            }
        }
    }
    assert!(refused > 10, "{refused}");
}

#[test]
fn the_next_start_survives_a_power_failure_at_any_moment() {
    let (whole, _) = worked();
    for place in places(&whole).into_iter().step_by(3) {
        for turns in 0..24 {
            let (environment, last) = worked();
            assert!(environment.rot(&journal(), place, 1));
            if start(&environment).is_ok() {
                break;
            }
            environment.kill();
            accept(&environment, &home(), &names(&environment)).expect("exactly the losses");
            environment.cut_power();
            let mut process = start(&environment).expect("it was accepted");
            (0..turns).for_each(|_| drop(process.turn()));
            drop(process);
            environment.cut_power();
            let story = format!("byte {place} after {turns} turns");
            let mut process = start(&environment).unwrap_or_else(|refused| panic!("{story}: {refused:?}"));
            assert!(grown(last, process.work(9)), "{story}");
        }
    }
}
