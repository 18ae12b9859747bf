//! A standalone node with two partitions, on a simulated machine that completes operations in any order.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use ng_io::simulated::SimulatedDriver;
use ng_io::{Driver, DriverLimits, Environment, SimulatedEnvironment, Wait};
use ng_partition::PartitionLimits;
use ng_replication::owner::METADATA;
use ng_replication::{
    Adoption, AdoptionEnd, Body, Executed, GroupLimits, LogAnswer, LogIdentity, LogParts, LogRequest,
    MetadataMachine, Outgoing, PartitionFigures, Poll, PollLimits, PollPart, PollRefusal, PollStrategy,
    Polled, ShardLog, Ticket,
};
use ng_storage::data_directory::{DataDirectory, Identity, Settings};
use ng_storage::founding::LayoutState;
use ng_storage::home::Home;
use ng_storage::journal::Limits as JournalLimits;
use ng_storage::layout::Member;
use ng_storage::store::StoreLimits;
use ng_storage::superblock::Genesis;
use ng_vsr::{ClientLimits, Limits, Timing};
use ng_wire::batch::{BATCH_HEADER_BYTES, BatchBuilder, BatchHeader, Messages, verify};
use ng_wire::replica::{ConsumerKind, Level, LogOperation, PartitionOp, PartitionReply, PrepareHeader};

pub(crate) const GROUP: u64 = 0x1001;
pub(crate) const CONSUMER: (ConsumerKind, u32) = (ConsumerKind::Consumer, 5);
pub(crate) const OFFSETS_MAX: u32 = 3;

const SETTINGS: Settings = Settings {
    genesis: Genesis {
        frame_bytes_max: 1 << 20,
        pipeline_depth: 16,
        client_table_slots: 4,
        consumer_offsets_max: 16,
    },
    journal: JournalLimits {
        file_bytes: 4 << 20,
        files_max: 8,
        block_bytes_target: 256 * 1024,
        queued_bytes_max: 4 << 20,
        window_max: 1024,
        slots_max: 8 * 1024,
    },
    direct: true,
    first_token: 1,
};

pub(crate) const STORE: StoreLimits = StoreLimits {
    segment_bytes: 256 * 1024,
    flush_bytes: 16 * 1024,
    flush_delay: Duration::from_millis(50),
    plan_bytes_max: 64 * 1024,
    buffered_bytes_max: 8 << 20,
    batch_bytes_max: 1 << 20,
    lanes: 2,
    retry_delay: Duration::from_millis(100),
};

/// A metadata machine without state.
#[derive(Debug, Default)]
pub(crate) struct Nothing(Vec<PrepareHeader>);

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

/// A message as a consumer sees it: offset, time of its batch, and its bytes.
pub(crate) type Message = (u64, u64, Vec<u8>);

pub(crate) type Answer = Result<Polled, PollRefusal>;

/// A process on a simulated machine.
pub(crate) struct Node {
    pub(crate) environment: SimulatedEnvironment,
    pub(crate) driver: SimulatedDriver,
    pub(crate) log: ShardLog<SimulatedEnvironment, Nothing>,
    tickets: u64,
    answers: BTreeMap<u64, LogAnswer>,
    polled: BTreeMap<u64, Answer>,
    /// Partition that receives the requests.
    pub(crate) group: u64,
    /// Outcomes of adoptions, by their number.
    adopted: BTreeMap<u64, AdoptionEnd>,
    /// Groups whose files are all deleted.
    pub(crate) removed: Vec<u64>,
    /// Stamped batches that were executed since a test last emptied this list.
    pub(crate) executed: Vec<Body>,
    /// The test damaged stored messages. Otherwise a report of damage fails the test.
    pub(crate) spoilt: bool,
    /// Group and offset of damage that polls found.
    pub(crate) damaged: Vec<(u64, u64)>,
    /// Ranges of lost messages: first and last offset.
    pub(crate) fenced: Vec<(u64, u64)>,
}

pub(crate) fn home() -> Home {
    Home::new("data")
}

/// Segment files of the partition, oldest first.
pub(crate) fn segments(environment: &SimulatedEnvironment) -> Vec<PathBuf> {
    let of_group = home().group(GROUP).directory();
    let names = environment.file_names().into_iter().filter(|path| path.starts_with(&of_group));
    names.filter(|path| path.extension().is_some_and(|extension| extension == "log")).collect()
}

/// A batch of messages of these sizes; the first has id `id`.
pub(crate) fn batch(id: u64, sizes: &[usize]) -> Vec<u8> {
    let ids = u128::from(id)..;
    let messages = ids.zip(sizes);
    let add = |batch: BatchBuilder, (id, size): (u128, &usize)| {
        let byte = u8::try_from(id % 251).unwrap_or(0);
        batch.message(id, 0, &vec![byte; *size], b"")
    };
    messages.fold(BatchBuilder::new(1_000), add).finish()
}

/// The messages of consecutive batches, with all checksums verified.
pub(crate) fn messages(mut bytes: &[u8]) -> Vec<Message> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let header = BatchHeader::decode(bytes).expect("a header");
        let (batch, rest) = bytes.split_at(usize::try_from(header.length).expect("a short batch"));
        verify(batch).expect("every checksum fits");
        for message in Messages::new(&batch[BATCH_HEADER_BYTES..], header.count) {
            let message = message.expect("a verified batch");
            let offset = header.base_offset + u64::from(message.offset_delta);
            found.push((offset, header.base_timestamp, message.bytes.to_vec()));
        }
        bytes = rest;
    }
    found
}

/// The bytes of an answer.
pub(crate) fn bytes(polled: &Polled) -> Vec<u8> {
    polled.parts.iter().flat_map(PollPart::bytes).copied().collect()
}

/// Poll limits without a cache, so that polls read from the disk.
pub(crate) fn uncached() -> PollLimits {
    PollLimits { cache_bytes: 0, ..PollLimits::default() }
}

pub(crate) fn poll(strategy: PollStrategy, count: u32) -> Poll {
    Poll { group: GROUP, consumer: CONSUMER, strategy, count, reply_bytes_max: 64 << 20, auto_commit: false }
}

impl Node {
    pub(crate) fn new(seed: u64) -> Self {
        Self::start(&SimulatedEnvironment::new(seed))
    }

    pub(crate) fn start(environment: &SimulatedEnvironment) -> Self {
        Self::start_with(environment, uncached())
    }

    /// Starts a process with these poll limits.
    pub(crate) fn start_with(environment: &SimulatedEnvironment, poll_limits: PollLimits) -> Self {
        let directory = DataDirectory::new(environment.clone(), home(), SETTINGS);
        let layout = match directory.layout().expect("a good directory") {
            LayoutState::Complete(layout) => layout,
            LayoutState::Nothing => directory
                .found(Identity { cluster: 1, node: 2, member: Member::STANDALONE }, 1, &mut || 7)
                .expect("a new directory"),
        };
        let limits = DriverLimits { operations_max: 64, handles_max: 64 };
        let mut driver = environment.driver(limits).expect("a driver");
        let shard = directory.open_shard(&mut driver, &layout, 0).expect("a good directory");
        let kept = shard.entries.iter().find(|entry| entry.group == METADATA).map(|entry| entry.anchor.op);
        let metadata_state =
            kept.map(|op| directory.metadata_state(&mut driver, METADATA, op).expect("a state"));
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
                partition: PartitionLimits { consumer_offsets_max: OFFSETS_MAX, ..Default::default() },
            },
            shard,
            home: home(),
            journal_limits: SETTINGS.journal,
            store_limits: STORE,
            files_max: 4,
            direct: true,
            checkpoint_period: 300,
            metadata_state,
            expected: [GROUP, GROUP + 1, METADATA].map(|group| (group, 1)).to_vec(),
            founding: true,
            nonce: 1,
            metadata: Nothing::default(),
            first_token: 100,
        };
        let mut log = ShardLog::start(parts, &driver).expect("a good log");
        log.watch();
        log.set_poll_limits(poll_limits);
        let mut node = Self {
            environment: environment.clone(),
            driver,
            log,
            tickets: 0,
            answers: BTreeMap::new(),
            polled: BTreeMap::new(),
            adopted: BTreeMap::new(),
            group: GROUP,
            removed: Vec::new(),
            executed: Vec::new(),
            spoilt: false,
            damaged: Vec::new(),
            fenced: Vec::new(),
        };
        node.until("it leads", |node| {
            let status = node.log.status(GROUP).expect("a group");
            // Only a primary refuses to delete an offset that is not stored; other replicas return `None`.
            let leads = node.log.store_ahead(GROUP, (ConsumerKind::Group, u32::MAX), None).is_some();
            (leads && status.commit_min == status.head).then_some(())
        });
        node
    }

    pub(crate) fn turn(&mut self) {
        self.turn_within(Duration::from_millis(1));
    }

    /// Takes a turn after the next completion, or after `while_at_most`.
    pub(crate) fn turn_within(&mut self, while_at_most: Duration) {
        let mut completions = Vec::new();
        let soon = self.driver.now() + while_at_most;
        self.driver.complete(Wait::Until(soon), &mut completions).expect("it lives");
        for completion in completions {
            self.log.complete(&mut self.driver, completion);
        }
        self.log.turn(&mut self.driver);
        let left: Vec<Outgoing> = self.log.outgoing().collect();
        for outgoing in left {
            match outgoing {
                Outgoing::Answer { ticket, answer } => drop(self.answers.insert(ticket.0, answer)),
                Outgoing::Polled { ticket, answer } => drop(self.polled.insert(ticket.0, answer)),
                Outgoing::Executed { group: GROUP, header, body, reply }
                    if header.operation == LogOperation::Batch.code() && reply.first() == Some(&0) =>
                {
                    self.executed.push(body);
                }
                Outgoing::Adopted { asker, end, .. } => drop(self.adopted.insert(asker, end)),
                Outgoing::Removed { group } => self.removed.push(group),
                Outgoing::Damaged { group, offset } => {
                    assert!(self.spoilt, "no test damaged offset {offset} of {group:x}");
                    self.damaged.push((group, offset));
                }
                Outgoing::Fenced { group: GROUP, fences } => {
                    self.fenced =
                        fences.iter().map(|fence| (fence.first_offset, fence.last_offset)).collect();
                }
                Outgoing::Fatal(fatal) => panic!("{fatal:?}"),
                _ => {}
            }
        }
    }

    /// Takes turns until `look` returns a value.
    pub(crate) fn until<T>(&mut self, what: &str, look: impl Fn(&mut Self) -> Option<T>) -> T {
        for _ in 0..20_000 {
            if let Some(found) = look(self) {
                return found;
            }
            self.turn();
        }
        panic!("it never happens: {what}");
    }

    /// Takes turns for a duration.
    pub(crate) fn rest(&mut self, time: Duration) {
        let end = self.driver.now() + time;
        while self.driver.now() < end {
            self.turn();
        }
    }

    /// Takes turns until all messages are in segments.
    pub(crate) fn flush(&mut self) {
        self.rest(STORE.flush_delay * 4);
    }

    pub(crate) fn ask(&mut self, operation: LogOperation, body: &[u8]) -> LogAnswer {
        let ticket = self.begin(operation, body);
        self.until("an answer", |node| node.take_answer(ticket))
    }

    pub(crate) fn begin(&mut self, operation: LogOperation, body: &[u8]) -> u64 {
        self.tickets += 1;
        let (client, session, request, level) = (1, 0, 0, Level::Persisted);
        let body = body.to_vec();
        self.log.request(
            Ticket(self.tickets),
            LogRequest { group: self.group, client, session, request, operation, level, body: body.into() },
        );
        self.tickets
    }

    pub(crate) fn done(&mut self, operation: LogOperation, body: &[u8]) -> PartitionReply {
        for _ in 0..1_000 {
            match self.ask(operation, body) {
                LogAnswer::Done { reply, .. } => return PartitionReply::decode(&reply).expect("a reply"),
                LogAnswer::Busy | LogAnswer::NotPrimary => self.turn(),
                other => panic!("{other:?}"),
            }
        }
        panic!("always busy");
    }

    pub(crate) fn op(&mut self, op: PartitionOp<'_>) {
        let (operation, body) = op.encode();
        assert!(matches!(self.done(operation, &body), PartitionReply::Done { .. }));
    }

    /// Sends messages of these sizes, waits for the reply, and returns the first offset.
    pub(crate) fn send(&mut self, id: u64, sizes: &[usize]) -> u64 {
        match self.done(LogOperation::Batch, &batch(id, sizes)) {
            PartitionReply::Done { value, .. } => value,
            PartitionReply::Rejected(reason) => panic!("{reason:?}"),
        }
    }

    /// Deletes the oldest segments of a partition.
    pub(crate) fn delete_segments(&mut self, group: u64, count: u32) -> LogAnswer {
        let ticket = self.begin_deletion(group, count);
        self.until("an answer", |node| node.take_answer(ticket))
    }

    pub(crate) fn begin_deletion(&mut self, group: u64, count: u32) -> u64 {
        self.tickets += 1;
        self.log.delete_segments(Ticket(self.tickets), group, 1, count, Level::Persisted);
        self.tickets
    }

    pub(crate) fn figures(&mut self) -> PartitionFigures {
        self.until("figures", |node| node.log.figures(node.group))
    }

    pub(crate) fn begin_adoption(&mut self, group: u64, adoption: Adoption) -> u64 {
        self.tickets += 1;
        self.log.adopt(self.tickets, group, adoption);
        self.tickets
    }

    pub(crate) fn take_adopted(&mut self, asker: u64) -> Option<AdoptionEnd> {
        self.adopted.remove(&asker)
    }

    pub(crate) fn adopt(&mut self, adoption: Adoption) -> AdoptionEnd {
        let asker = self.begin_adoption(GROUP, adoption);
        self.until("an end of the adoption", |node| node.take_adopted(asker))
    }

    pub(crate) fn begin_poll(&mut self, poll: Poll) -> u64 {
        self.tickets += 1;
        self.log.poll(Ticket(self.tickets), poll);
        self.tickets
    }

    pub(crate) fn take_answer(&mut self, ticket: u64) -> Option<LogAnswer> {
        self.answers.remove(&ticket)
    }

    pub(crate) fn take_polled(&mut self, ticket: u64) -> Option<Answer> {
        self.polled.remove(&ticket)
    }

    /// Number of these polls that are answered.
    pub(crate) fn polled(&self, tickets: [u64; 3]) -> usize {
        tickets.iter().filter(|ticket| self.polled.contains_key(ticket)).count()
    }

    pub(crate) fn poll(&mut self, poll: Poll) -> Answer {
        let ticket = self.begin_poll(poll);
        self.until("an answer to a poll", |node| node.take_polled(ticket))
    }

    /// Offsets that a poll returns.
    pub(crate) fn offsets(&mut self, strategy: PollStrategy, count: u32) -> Vec<u64> {
        let polled = self.poll(poll(strategy, count)).expect("nothing is wrong");
        let found = messages(&bytes(&polled));
        assert_eq!(found.len(), polled.messages as usize);
        found.into_iter().map(|(offset, ..)| offset).collect()
    }

    /// Kills the process and starts the next one.
    pub(crate) fn restart(self) -> Self {
        self.restart_with(uncached())
    }

    /// Kills the process and starts the next one with these poll limits.
    pub(crate) fn restart_with(self, limits: PollLimits) -> Self {
        let environment = self.environment.clone();
        drop(self);
        environment.kill();
        Self::start_with(&environment, limits)
    }

    /// Cuts the power and starts the next process.
    pub(crate) fn restart_without_power(self) -> Self {
        let environment = self.environment.clone();
        drop(self);
        environment.cut_power();
        Self::start(&environment)
    }

    /// Stops in order, then starts again.
    pub(crate) fn stop_and_start(self) -> Self {
        self.stop_and_start_after(|_| {})
    }

    /// Stops in order, changes the disk with `act`, then starts again. `act` may damage messages.
    pub(crate) fn stop_and_start_after(mut self, act: impl FnOnce(&SimulatedEnvironment)) -> Self {
        self.log.begin_stop();
        self.until("a stop", |node| node.log.is_stopped().then_some(()));
        let environment = self.environment.clone();
        drop(self);
        environment.kill();
        act(&environment);
        let mut node = Self::start(&environment);
        node.spoilt = true;
        node
    }
}
