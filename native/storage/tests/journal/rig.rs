//! A journal with its shell on a simulated machine, driven step by step, and the next process after a crash.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ng_io::simulated::SimulatedDriver;
use ng_io::{Driver, DriverLimits, Environment, Instant, Outcome, SimulatedEnvironment, Token, Wait};
use ng_storage::journal::recovery::{Recovered, RecoveredGroup};
use ng_storage::journal::shell::{JournalHome, JournalShell, StartFault, body_in, file_name};
use ng_storage::journal::{Effect, Event, JournalFault, Limits, Position, PrepareJournal, Refused};
use ng_storage::record::{RecordHeader, RecordKind};
use ng_storage::superblock::{Ring, SyncedBlock};

pub(crate) const LIMITS: Limits = Limits {
    file_bytes: 64 * 1024,
    files_max: 6,
    block_bytes_target: 16 * 1024,
    queued_bytes_max: 64 * 1024,
    window_max: 64,
    slots_max: 256,
};

pub(crate) const DRIVER: DriverLimits = DriverLimits { operations_max: 16, handles_max: 64 };

pub(crate) struct Rig {
    pub(crate) environment: SimulatedEnvironment,
    driver: SimulatedDriver,
    shell: JournalShell<SimulatedEnvironment>,
    pub(crate) journal: PrepareJournal,
    effects: Vec<Effect>,
    incarnation: u64,
    /// How many files a superblock would count.
    files: u32,
    pub(crate) durable: u64,
    pub(crate) damaged: Vec<(u64, u64)>,
    pub(crate) fault: Option<JournalFault>,
}

pub(crate) fn home() -> JournalHome {
    JournalHome { directory: PathBuf::from("shard"), direct: true, journal: 0x4a4a, first_token: 100 }
}

pub(crate) fn path(file: u32) -> PathBuf {
    home().directory.join(file_name(file))
}

impl Rig {
    pub(crate) fn create(seed: u64) -> Self {
        let mut rig = Self::create_within(seed, u64::MAX);
        // The second file is made while the first is written.
        while rig.journal.files() < 2 || !rig.journal.is_quiet() {
            rig.work(1_000_000);
        }
        rig
    }

    /// A journal of one file, on a disk with so many bytes.
    pub(crate) fn create_within(seed: u64, capacity: u64) -> Self {
        let environment = SimulatedEnvironment::new(seed);
        environment.make_directories(&home().directory).expect("an empty disk");
        environment.sync_directory(Path::new("")).expect("an empty disk");
        let mut driver = environment.driver(DRIVER).expect("a driver");
        let (shell, recovered) =
            JournalShell::create(environment.clone(), &mut driver, home(), LIMITS).expect("a healthy disk");
        environment.set_capacity(capacity);
        Self::start(environment, driver, shell, recovered, (1, 1))
    }

    /// What the next process finds; the caller judges it before it goes on with [`Found::resume`].
    pub(crate) fn reopen(self, floors: &BTreeMap<u64, u64>) -> Found {
        Found::read_files(self.environment, (self.incarnation + 1, self.files), floors)
    }

    fn start(
        environment: SimulatedEnvironment,
        driver: SimulatedDriver,
        shell: JournalShell<SimulatedEnvironment>,
        recovered: Recovered,
        (incarnation, files): (u64, u32),
    ) -> Self {
        let mut effects = Vec::new();
        let journal = PrepareJournal::resume(home().journal, incarnation, LIMITS, recovered, &mut effects);
        let mut rig = Self {
            environment,
            driver,
            shell,
            journal,
            effects,
            incarnation,
            files,
            durable: 0,
            damaged: Vec::new(),
            fault: None,
        };
        rig.perform();
        rig
    }

    pub(crate) fn append(&mut self, header: RecordHeader, body: Vec<u8>) -> Result<Position, Refused> {
        let position = self.journal.append(header, Arc::new(body.into()));
        self.perform();
        position
    }

    pub(crate) fn step(&mut self, event: Event) {
        self.journal.step(event, &mut self.effects);
        self.perform();
    }

    /// Lets the disk work for a while; false if it has nothing to do.
    pub(crate) fn work(&mut self, nanos: u64) -> bool {
        let mut completions = Vec::new();
        let deadline = self.environment.now() + Duration::from_nanos(nanos);
        self.driver.complete(Wait::Until(deadline), &mut completions).expect("the process lives");
        let worked = !completions.is_empty();
        for completion in completions {
            if let Some(event) = self.shell.event(&mut self.driver, completion) {
                self.step(event);
            }
        }
        worked
    }

    /// The body of an op, read as a shard reads it.
    pub(crate) fn read(&mut self, group: u64, op: u64) -> Option<Vec<u8>> {
        const TOKEN: Token = Token(7);
        let located = self.journal.locate(group, op)?;
        if !self.shell.read_body(&mut self.driver, &located, TOKEN) {
            return None;
        }
        loop {
            let mut completions = Vec::new();
            self.driver
                .complete(Wait::Until(Instant::FAR_FUTURE), &mut completions)
                .expect("the process lives");
            for completion in completions {
                if completion.token == TOKEN {
                    let Outcome::Read { buffer, result } = completion.outcome else {
                        panic!("it was a read")
                    };
                    return result.ok().and_then(|_| body_in(&located, &buffer));
                }
                if let Some(event) = self.shell.event(&mut self.driver, completion) {
                    self.step(event);
                }
            }
        }
    }

    /// Lets the disk work until the journal is quiet.
    pub(crate) fn settle(&mut self) {
        for _ in 0..10_000 {
            if !self.work(1_000_000) && (self.journal.is_quiet() || self.fault.is_some()) {
                return;
            }
        }
        panic!("the journal never becomes quiet");
    }

    fn perform(&mut self) {
        self.journal.start(&mut self.effects);
        self.shell.perform(&mut self.driver, &mut self.effects);
        for effect in std::mem::take(&mut self.effects) {
            match effect {
                Effect::Durable { through, .. } => {
                    assert!(through > self.durable, "durability goes forward");
                    self.durable = through;
                }
                Effect::Damaged { group, op } => self.damaged.push((group, op)),
                Effect::Fatal(fault) => self.fault = Some(fault),
                Effect::Enlist { files } => {
                    self.files = files;
                    self.step(Event::Enlisted);
                }
                other => panic!("left undone: {other:?}"),
            }
        }
    }
}

/// What a process finds when it opens the journal.
pub(crate) struct Found {
    pub(crate) environment: SimulatedEnvironment,
    driver: SimulatedDriver,
    shell: JournalShell<SimulatedEnvironment>,
    incarnation: u64,
    files: u32,
    pub(crate) recovered: Recovered,
    pub(crate) groups: Vec<RecoveredGroup>,
}

impl Found {
    /// Makes the lost files whole, as a start does that goes on over the loss.
    pub(crate) fn complete(&mut self) {
        self.shell.complete(&mut self.driver, &self.recovered).expect("a healthy disk");
    }

    /// What it finds in a journal of which every file that is there counts.
    pub(crate) fn read(
        environment: SimulatedEnvironment,
        incarnation: u64,
        floors: &BTreeMap<u64, u64>,
    ) -> Self {
        let is_there = |number: &u32| environment.file_bytes(&path(*number)).is_some();
        let files = u32::try_from((0..).take_while(is_there).count()).expect("a few");
        Self::read_files(environment, (incarnation, files), floors)
    }

    fn read_files(
        environment: SimulatedEnvironment,
        (incarnation, files): (u64, u32),
        floors: &BTreeMap<u64, u64>,
    ) -> Self {
        let vouched = Ring { files, synced: SyncedBlock::default() };
        Self::read_ring(environment, incarnation, vouched, floors).expect("the files of this life")
    }

    /// What it finds in the files that a superblock vouches for.
    pub(crate) fn read_ring(
        environment: SimulatedEnvironment,
        incarnation: u64,
        ring: Ring,
        floors: &BTreeMap<u64, u64>,
    ) -> Result<Self, StartFault> {
        let mut driver = environment.driver(DRIVER).expect("a driver");
        let (shell, mut recovered) = JournalShell::recover(
            environment.clone(),
            &mut driver,
            home(),
            LIMITS,
            (ring, incarnation),
            floors,
        )?;
        let groups = recovered.take_groups();
        let files = ring.files;
        Ok(Self { environment, driver, shell, incarnation, files, recovered, groups })
    }

    pub(crate) fn resume(mut self) -> Rig {
        self.shell.complete(&mut self.driver, &self.recovered).expect("a healthy disk");
        let life = (self.incarnation, self.files);
        Rig::start(self.environment, self.driver, self.shell, self.recovered, life)
    }

    /// The view of a group, 0 before its first.
    pub(crate) fn view(&self, group: u64) -> u64 {
        self.recovered.view(group).unwrap_or(0)
    }

    /// The records of a group that count.
    pub(crate) fn group(&self, group: u64) -> Option<&RecoveredGroup> {
        self.groups.iter().find(|found| found.group == group)
    }

    /// The body of an op as it is on the disk.
    pub(crate) fn body(&self, group: u64, op: u64) -> Option<Vec<u8>> {
        let located = self.recovered.locate(group, op)?;
        let file = self.environment.file_bytes(&path(located.file?))?;
        let start = usize::try_from(located.offset).ok()?;
        file.get(start..start + located.length as usize).map(<[u8]>::to_vec)
    }
}

pub(crate) fn prepare(group: u64, op: u64, view: u64, body: &[u8]) -> RecordHeader {
    RecordHeader { op, view, ..RecordHeader::of(RecordKind::Prepare, group, body) }
}
