//! Measures the memory of unused groups in one log: opens partitions, waits until they are idle, and prints
//! the bytes of memory per partition. `idle_groups FOLDER GROUPS`

#![allow(clippy::print_stdout, clippy::panic, reason = "a command-line program that ends at wrong arguments")]

use std::path::Path;
use std::time::Duration;

use ng_io::{Completion, Driver, DriverLimits, Environment, PosixEnvironment, Wait};
use ng_partition::PartitionLimits;
use ng_replication::{Executed, GroupLimits, LogIdentity, LogParts, MetadataMachine, Outgoing, ShardLog};
use ng_storage::data_directory::{DataDirectory, Identity, Settings};
use ng_storage::home::Home;
use ng_storage::journal::Limits as JournalLimits;
use ng_storage::layout::Member;
use ng_storage::store::StoreLimits;
use ng_storage::superblock::Genesis;
use ng_vsr::{ClientLimits, Limits, Status, Timing};
use ng_wire::replica::PrepareHeader;

const SETTINGS: Settings = Settings {
    genesis: Genesis {
        frame_bytes_max: 1 << 20,
        pipeline_depth: 16,
        client_table_slots: 16,
        consumer_offsets_max: 16,
    },
    journal: JournalLimits {
        file_bytes: 64 << 20,
        files_max: 8,
        block_bytes_target: 1 << 20,
        queued_bytes_max: 16 << 20,
        window_max: 4_096,
        slots_max: 1 << 20,
    },
    direct: false,
    first_token: 1,
};

const STORE: StoreLimits = StoreLimits {
    segment_bytes: 1 << 30,
    flush_bytes: 256 << 10,
    flush_delay: Duration::from_secs(1),
    plan_bytes_max: 1 << 20,
    buffered_bytes_max: 64 << 20,
    batch_bytes_max: 1 << 20,
    lanes: 2,
    retry_delay: Duration::from_millis(100),
};

/// Partitions opened between two turns of the journal.
const AT_A_TIME: u64 = 500;

/// Idle rounds of five milliseconds after each group of partitions, and at the end. A manifest of all groups
/// is written after a second.
const BETWEEN: u32 = 2;
const AT_LAST: u32 = 300;

/// A metadata machine without state.
#[derive(Debug)]
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

struct Shard {
    driver: <PosixEnvironment as Environment>::Driver,
    log: ShardLog<PosixEnvironment, Nothing>,
    completions: Vec<Completion>,
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let [_, folder, groups] = words.as_slice() else { panic!("usage: idle_groups FOLDER GROUPS") };
    let groups: u64 = groups.parse().expect("a number of groups");
    let mut shard = start(Path::new(folder));
    shard.rest(AT_LAST);
    let before = resident();
    for first in (1..=groups).step_by(usize::try_from(AT_A_TIME).expect("a small number")) {
        for group in first..(first + AT_A_TIME).min(groups + 1) {
            shard.log.open(1 << 12 | group << 20).expect("sound limits");
        }
        shard.rest(BETWEEN);
    }
    shard.rest(AT_LAST);
    let settled = shard.log.partitions().filter(|group| shard.is_normal(*group)).count() as u64;
    assert_eq!(settled, groups, "every group is led from here");
    println!("{}", resident().saturating_sub(before) / groups);
}

fn start(folder: &Path) -> Shard {
    let environment = PosixEnvironment;
    let home = Home::new(folder.join("data"));
    let directory = DataDirectory::new(environment, home.clone(), SETTINGS);
    let layout = directory
        .found(Identity { cluster: 1, node: 1, member: Member::STANDALONE }, 1, &mut || 7)
        .expect("an empty folder");
    let mut driver =
        environment.driver(DriverLimits { operations_max: 256, handles_max: 256 }).expect("a driver");
    let shard = directory.open_shard(&mut driver, &layout, 0).expect("it was founded just now");
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
            clients: ClientLimits::default(),
            partition: PartitionLimits::default(),
        },
        shard,
        home,
        journal_limits: SETTINGS.journal,
        store_limits: STORE,
        files_max: 64,
        direct: false,
        checkpoint_period: 1_000,
        metadata_state: None,
        expected: Vec::new(),
        founding: true,
        nonce: 1,
        metadata: Nothing,
        first_token: 100,
    };
    let log = ShardLog::start(parts, &driver).expect("a new directory has no losses");
    Shard { driver, log, completions: Vec::new() }
}

impl Shard {
    /// Takes turns until the disk was idle for `times` rounds of five milliseconds.
    fn rest(&mut self, times: u32) {
        let mut quiet = 0;
        while quiet < times {
            let soon = self.driver.now() + Duration::from_millis(5);
            self.driver.complete(Wait::Until(soon), &mut self.completions).expect("it lives");
            quiet = if self.completions.is_empty() { quiet + 1 } else { 0 };
            for completion in self.completions.drain(..) {
                self.log.complete(&mut self.driver, completion);
            }
            self.log.turn(&mut self.driver);
            for left in self.log.outgoing() {
                assert!(!matches!(left, Outgoing::Fatal(_)), "{left:?}");
            }
        }
    }

    fn is_normal(&self, group: u64) -> bool {
        self.log.status(group).is_some_and(|status| status.status == Status::Normal)
    }
}

fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a figure");
    1024 * line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number")
}
