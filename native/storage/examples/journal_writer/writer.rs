//! Writes prepares and views of several groups and says what is durable.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::sync::Arc;

use ng_io::simulated::Random;
use ng_io::{Driver, Environment, Instant, Wait};
use ng_storage::journal::recovery::Recovered;
use ng_storage::journal::shell::JournalShell;
use ng_storage::journal::{Effect, Event, PrepareJournal, Refused};
use ng_storage::record::{RecordHeader, RecordKind};
use ng_storage::record_body::ViewBody;

use crate::order::{DRIVER, GROUPS, JOURNAL, LIMITS, Obstacle, Order, disk, say};

/// Ops that a group keeps in the journal, and how few when there is no room.
const KEPT: u64 = 20;
const KEPT_AT_LEAST: u64 = 3;

/// What is said of a record once it is durable.
#[derive(Clone, Copy, Debug)]
enum Promise {
    Ack { group: u64, op: u64, identity: u128 },
    View { group: u64, view: u64 },
}

impl Promise {
    fn line(&self) -> String {
        match self {
            Self::Ack { group, op, identity } => format!("ack {group} {op} {identity:032x}"),
            Self::View { group, view } => format!("view {group} {view}"),
        }
    }
}

/// What the writer knows of a group.
#[derive(Clone, Copy, Debug, Default)]
struct Log {
    view: u64,
    /// The last op that was appended, and the last that is durable.
    head: u64,
    durable: u64,
    floor: u64,
}

struct Writer<E: Environment> {
    driver: E::Driver,
    shell: JournalShell<E>,
    journal: PrepareJournal,
    effects: Vec<Effect>,
    /// In the order of their blocks.
    promises: VecDeque<(u64, Promise)>,
    logs: BTreeMap<u64, Log>,
    random: Random,
    ops: u64,
}

/// Founds a journal or recovers the one that is there, and appends as much as was ordered.
pub(crate) fn write<E: Environment>(environment: &E, order: &Order) -> Result<(), Obstacle> {
    let said = order.said()?;
    let mut driver = environment.driver(DRIVER).map_err(|error| disk(&error))?;
    let fresh = !order.founded().exists();
    let (shell, recovered) = if fresh {
        JournalShell::create(environment.clone(), &mut driver, order.home(), LIMITS)
            .map_err(|error| disk(&error))?
    } else {
        let vouched = (said.ring(), order.incarnation);
        JournalShell::recover(environment.clone(), &mut driver, order.home(), LIMITS, vouched, said.floors())
            .map_err(|error| disk(&error))?
    };
    if !recovered.damage.is_empty() {
        return Err(Obstacle::Damage(format!("{:?}", recovered.damage)));
    }
    let logs = logs_of(&recovered, said.floors());
    let found = acks_of(&recovered, &logs);
    let mut effects = Vec::new();
    let journal = PrepareJournal::resume(JOURNAL, order.incarnation, LIMITS, recovered, &mut effects);
    let random = Random::new(order.seed);
    let promises = VecDeque::new();
    let mut writer = Writer { driver, shell, journal, effects, promises, logs, random, ops: 0 };
    writer.wait_for_first_block()?;
    for ack in found {
        say(&ack.line())?;
    }
    if fresh {
        make_founded(order)?;
    }
    for group in GROUPS {
        writer.enter_view(group)?;
    }
    writer.write_until(order.ops)
}

/// Makes the file that says that there is a journal, for good.
fn make_founded(order: &Order) -> Result<(), Obstacle> {
    let made = File::create(order.founded()).and_then(|file| file.sync_all());
    made.and_then(|()| File::open(&order.directory)?.sync_all()).map_err(|error| disk(&error))?;
    say("founded")
}

/// Each log ends before its first hole: what lies behind was never acknowledged.
fn logs_of(recovered: &Recovered, floors: &BTreeMap<u64, u64>) -> BTreeMap<u64, Log> {
    let log = |group: u64| {
        let floor = floors.get(&group).copied().unwrap_or(0);
        let mut head = floor;
        while recovered.locate(group, head + 1).is_some() {
            head += 1;
        }
        (group, Log { view: recovered.view(group).unwrap_or(0), head, durable: head, floor })
    };
    GROUPS.into_iter().map(log).collect()
}

/// What was found and may never have been acknowledged is durable with the first block.
fn acks_of(recovered: &Recovered, logs: &BTreeMap<u64, Log>) -> Vec<Promise> {
    let ops = logs.iter().flat_map(|(group, log)| (log.floor + 1..=log.head).map(|op| (*group, op)));
    let ack = |(group, op)| {
        let identity = recovered.locate(group, op)?.checksum;
        Some(Promise::Ack { group, op, identity })
    };
    ops.filter_map(ack).collect()
}

/// A body that no other op has; most are small, a few large.
fn body(group: u64, op: u64, view: u64) -> Vec<u8> {
    let mut random = Random::new(group.rotate_left(40) ^ (op << 12) ^ view);
    let bound = match random.below(32) {
        0 => 300_000,
        1..5 => 60_000,
        _ => 4_000,
    };
    let words = 1 + random.below(bound) / 8;
    let mut body: Vec<u8> = (0..words).flat_map(|_| random.next().to_le_bytes()).collect();
    body.truncate(body.len() - usize::try_from(random.below(8)).unwrap_or(0));
    body
}

impl<E: Environment> Writer<E> {
    fn wait_for_first_block(&mut self) -> Result<(), Obstacle> {
        let before = self.journal.synced_through();
        while self.journal.synced_through() == before {
            self.work()?;
        }
        Ok(())
    }

    /// Appends in rounds. A run of so many ops ends each round with everything durable, so that each such run makes the same
    /// calls; an endless one keeps a few records under way.
    fn write_until(&mut self, ops: Option<u64>) -> Result<(), Obstacle> {
        while ops.is_none_or(|ops| self.ops < ops) {
            let left = ops.map_or(u64::MAX, |ops| ops - self.ops);
            for _ in 0..(1 + self.random.below(4)).min(left) {
                self.append_one()?;
            }
            let under_way = if ops.is_some() { 0 } else { self.random.below(12) };
            while self.promises.len() as u64 > under_way {
                self.work()?;
            }
        }
        say("done")
    }

    fn append_one(&mut self) -> Result<(), Obstacle> {
        let group = GROUPS[usize::try_from(self.random.below(GROUPS.len() as u64)).unwrap_or(0)];
        if self.random.below(8) == 0 {
            self.enter_view(group)?;
        }
        let Log { view, head, .. } = self.logs[&group];
        let op = head + 1;
        let body = body(group, op, view);
        let header = RecordHeader { op, view, ..RecordHeader::of(RecordKind::Prepare, group, &body) };
        let promise = Promise::Ack { group, op, identity: header.checksum() };
        self.append(header, &body, promise)?;
        self.log(group).head = op;
        self.ops += 1;
        Ok(())
    }

    fn enter_view(&mut self, group: u64) -> Result<(), Obstacle> {
        let Log { view, head, durable, .. } = self.logs[&group];
        let view = view + 1;
        let entered = ViewBody { view, log_view: view, commit: durable, head, headers: Vec::new() };
        let body = entered.encode();
        let header = RecordHeader { view, ..RecordHeader::of(RecordKind::View, group, &body) };
        self.append(header, &body, Promise::View { group, view })?;
        self.log(group).view = view;
        Ok(())
    }

    /// Appends a record, as soon as there is room.
    fn append(&mut self, header: RecordHeader, body: &[u8], promise: Promise) -> Result<(), Obstacle> {
        loop {
            match self.journal.append(header, Arc::new(body.to_vec().into())) {
                Ok(position) => {
                    self.promises.push_back((position.block, promise));
                    return Ok(());
                }
                Err(Refused::Busy | Refused::Window) => {
                    if self.promises.is_empty() {
                        self.release(KEPT_AT_LEAST)?;
                    }
                    self.work()?;
                }
                Err(refused) => return Err(Obstacle::Disk(format!("{header:?}: {refused}"))),
            }
        }
    }

    fn work(&mut self) -> Result<(), Obstacle> {
        self.journal.start(&mut self.effects);
        self.shell.perform(&mut self.driver, &mut self.effects);
        self.speak()?;
        // What was waited for may have come with the last completion: then nothing would end the wait for another.
        let quiet = self.journal.is_quiet() || !self.effects.is_empty();
        let wait = if quiet { Wait::Now } else { Wait::Until(Instant::FAR_FUTURE) };
        let mut completions = Vec::new();
        self.driver.complete(wait, &mut completions).map_err(|error| disk(&error))?;
        for completion in completions {
            if let Some(event) = self.shell.event(&mut self.driver, completion) {
                self.journal.step(event, &mut self.effects);
            }
        }
        Ok(())
    }

    /// Says what is durable now, and releases what is long past.
    fn speak(&mut self) -> Result<(), Obstacle> {
        for effect in std::mem::take(&mut self.effects) {
            match effect {
                Effect::Durable { through, .. } => self.keep_promises(through)?,
                Effect::Fatal(fault) => return Err(disk(&fault)),
                Effect::Enlist { files } => {
                    say(&format!("files {files}"))?;
                    self.journal.step(Event::Enlisted, &mut self.effects);
                }
                other => return Err(Obstacle::Damage(format!("{other:?}"))),
            }
        }
        self.release(KEPT)
    }

    fn keep_promises(&mut self, through: u64) -> Result<(), Obstacle> {
        while let Some((_, promise)) = self.promises.pop_front_if(|(block, _)| *block <= through) {
            say(&promise.line())?;
            if let Promise::Ack { group, op, .. } = promise {
                self.log(group).durable = op;
            }
        }
        Ok(())
    }

    /// Leaves each group few durable ops in the journal; twice so many before it bothers, unless there is no room.
    fn release(&mut self, kept: u64) -> Result<(), Obstacle> {
        for group in GROUPS {
            let Log { durable, floor, .. } = self.logs[&group];
            let slack = if kept == KEPT { kept } else { 0 };
            if durable > floor + kept + slack {
                let op = durable - kept;
                say(&format!("floor {group} {op}"))?;
                self.log(group).floor = op;
                self.journal.step(Event::Released { group, op }, &mut self.effects);
            }
        }
        Ok(())
    }

    fn log(&mut self, group: u64) -> &mut Log {
        self.logs.entry(group).or_default()
    }
}
