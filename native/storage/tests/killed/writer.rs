//! The child: writes one group's ops for ever and says what is durable.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

use ng_io::{Driver, DriverLimits, Environment, Instant, Wait};
use ng_storage::journal::recovery::Recovered;
use ng_storage::journal::shell::{JournalHome, JournalShell, file_name};
use ng_storage::journal::{Effect, Event, Limits, PrepareJournal, SlotState};
use ng_storage::record::{RecordHeader, RecordKind};

/// Names the directory to the child.
pub(crate) const DIRECTORY: &str = "SERVER_NG_KILLED_DIRECTORY";

/// Tells the child up to where the group is safe elsewhere, as a manifest would.
pub(crate) const FLOOR: &str = "SERVER_NG_KILLED_FLOOR";

const LIMITS: Limits = Limits {
    file_bytes: 1 << 20,
    files_max: 6,
    block_bytes_target: 64 * 1024,
    queued_bytes_max: 256 * 1024,
    window_max: 1024,
    slots_max: 1024,
};

const DRIVER: DriverLimits = DriverLimits { operations_max: 16, handles_max: 16 };

pub(crate) fn body(op: u64) -> Vec<u8> {
    vec![op.to_le_bytes()[0]; usize::try_from(op * 997 % 20_000).expect("small")]
}

fn home(directory: &Path) -> JournalHome {
    JournalHome { directory: directory.to_owned(), direct: false, journal: 77, first_token: 0 }
}

struct Writer<E: Environment> {
    driver: E::Driver,
    shell: JournalShell<E>,
    journal: PrepareJournal,
    effects: Vec<Effect>,
    /// Ops in the order of their blocks.
    waiting: Vec<(u64, u64)>,
    durable: u64,
}

/// Recovers, or founds, and then appends until somebody kills it.
pub(crate) fn write_for_ever<E: Environment>(environment: &E, directory: &Path) -> ! {
    let mut driver = environment.driver(DRIVER).expect("a driver");
    let fresh = !directory.join("founded").exists();
    let home = home(directory);
    let (shell, recovered) = if fresh {
        JournalShell::create(environment.clone(), &mut driver, home, LIMITS)
    } else {
        let floor = std::env::var(FLOOR).ok().and_then(|floor| floor.parse().ok()).unwrap_or(0);
        JournalShell::recover(environment.clone(), &mut driver, home, LIMITS, &BTreeMap::from([(1, floor)]))
    }
    .expect("a healthy disk");
    assert_eq!(recovered.damage, []);
    let next = recovered.ops().map(|(_, op)| op + 1).max().unwrap_or(1);
    let mut effects = Vec::new();
    // The process's number: higher than that of any writer before it is all that an incarnation must be.
    let incarnation = u64::from(std::process::id());
    let journal = PrepareJournal::resume(77, incarnation, LIMITS, recovered, &mut effects);
    let mut writer = Writer { driver, shell, journal, effects, waiting: Vec::new(), durable: 0 };
    writer.wait_for_first_block();
    std::fs::write(directory.join("founded"), b"").expect("a healthy disk");
    let mut op = next;
    loop {
        while writer.append(op) {
            op += 1;
        }
        writer.work();
    }
}

impl<E: Environment> Writer<E> {
    fn wait_for_first_block(&mut self) {
        let before = self.journal.synced_through();
        while self.journal.synced_through() == before {
            self.work();
        }
    }

    fn append(&mut self, op: u64) -> bool {
        let header = RecordHeader { op, ..RecordHeader::of(RecordKind::Prepare, 1, &body(op)) };
        // A few ops at a time, so that kills meet blocks of every size.
        if self.waiting.len() > usize::try_from(op % 9).expect("small") {
            return false;
        }
        let taken = self.journal.append(header, body(op), &mut self.effects);
        if let Ok(position) = taken {
            self.waiting.push((position.block, op));
        }
        taken.is_ok()
    }

    fn work(&mut self) {
        let mut events = Vec::new();
        self.shell.perform(&mut self.driver, &mut self.effects, &mut events);
        self.speak();
        for event in events {
            self.journal.step(event, &mut self.effects);
        }
        // What was waited for may have come with the last completion: then nothing would end the wait for another.
        let wait = if self.journal.is_quiet() { Wait::Now } else { Wait::Until(Instant::FAR_FUTURE) };
        let mut completions = Vec::new();
        self.driver.complete(wait, &mut completions).expect("the driver works");
        for completion in completions {
            if let Some(event) = self.shell.event(&mut self.driver, completion) {
                self.journal.step(event, &mut self.effects);
            }
        }
    }

    /// Says what is durable now, and releases what is long past.
    fn speak(&mut self) {
        let durable_before = self.durable;
        for effect in std::mem::take(&mut self.effects) {
            let Effect::Durable { through } = effect else { panic!("{effect:?}") };
            let done = self.waiting.iter().take_while(|(block, _)| *block <= through).count();
            self.durable = self.waiting.drain(..done).next_back().map_or(self.durable, |(_, op)| op);
        }
        if self.durable > durable_before {
            say("durable", self.durable);
        }
        let floor = self.durable.saturating_sub(50);
        if floor > 0 && self.durable > durable_before {
            say("floor", floor);
            self.journal.step(Event::Released { group: 1, op: floor }, &mut self.effects);
            let mut events = Vec::new();
            self.shell.perform(&mut self.driver, &mut self.effects, &mut events);
        }
    }
}

fn say(word: &str, op: u64) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{word} {op}").expect("somebody listens");
    out.flush().expect("somebody listens");
}

/// The bodies of group 1 above its floor, as a new process would find them.
pub(crate) fn read_back<E: Environment>(
    environment: &E,
    directory: &Path,
    floors: &BTreeMap<u64, u64>,
) -> BTreeMap<u64, Vec<u8>> {
    if !directory.join("founded").exists() {
        return BTreeMap::new();
    }
    let mut driver = environment.driver(DRIVER).expect("a driver");
    let (_, recovered) =
        JournalShell::recover(environment.clone(), &mut driver, home(directory), LIMITS, floors)
            .expect("files that open");
    assert_eq!(recovered.damage, []);
    recovered.ops().map(|(group, op)| (op, body_of(&recovered, directory, group, op))).collect()
}

fn body_of(recovered: &Recovered, directory: &Path, group: u64, op: u64) -> Vec<u8> {
    let located = recovered.locate(group, op).expect("an op that is there");
    assert_eq!(located.state, SlotState::Present);
    let file = std::fs::read(directory.join(file_name(located.file.expect("written")))).expect("a file");
    let start = usize::try_from(located.offset).expect("small");
    file[start..start + located.length as usize].to_vec()
}
