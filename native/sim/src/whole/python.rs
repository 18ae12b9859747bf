//! What Python does behind the records of a node: logins, operations of the metadata, orders for partitions.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ng_control::record::{Drained, Record};
use ng_io::simulated::Random;
use ng_io::{Environment as _, SimulatedEnvironment};
use ng_replication::owner::owner;
use ng_shard::port::{Port, SubmitError};
use ng_wire::primitive::{put_str32, put_u32, put_u64};
use ng_wire::table::event::Event;
use ng_wire::table::record::{FromPython, ToPython};

use super::metadata::Metadata;
use super::reconciler::Reconciler;

/// Nanoseconds between two looks at the records.
const LOOK: u64 = 500_000;

/// Bytes of records that are drained at a time.
const DRAIN_BYTES: usize = 64 << 10;

/// Nanoseconds that the check of a password takes at most.
const PASSWORD: u64 = 5_000_000;

/// The control plane of one process.
#[derive(Debug)]
pub(super) struct Python {
    pub(super) port: Port,
    shards: u16,
    metadata: Metadata,
    reconciler: Reconciler,
    /// Records that wait for their turn.
    received: VecDeque<Vec<u8>>,
    /// Logins whose password is being checked, by when that is done.
    logins: BTreeMap<(u64, u64), ()>,
    outgoing: Vec<u8>,
    next: u64,
    /// Nothing is done before then.
    stalled_until: u64,
    /// Nanoseconds that an operation takes at most.
    delay: u64,
    caught_up: bool,
    /// Clients were let in.
    pub(super) open: bool,
    /// Every shard has stopped, and whether in order.
    pub(super) stopped: Option<bool>,
    random: Random,
    capacity: u64,
    /// What shards said of cuts and adoptions: kind, token, body.
    pub(super) told: Vec<(ToPython, u64, Vec<u8>)>,
    /// Groups of which the node has said that messages are damaged.
    pub(super) damaged: BTreeSet<u64>,
}

impl Python {
    pub(super) fn new(port: Port, shards: u16, segment_bytes: u64, delay: u64, random: Random) -> Self {
        Self {
            port,
            shards,
            metadata: Metadata::new(segment_bytes),
            reconciler: Reconciler::new(shards),
            received: VecDeque::new(),
            logins: BTreeMap::new(),
            outgoing: Vec::new(),
            next: 0,
            stalled_until: 0,
            delay,
            caught_up: false,
            open: false,
            stopped: None,
            random,
            capacity: 1 << 30,
            told: Vec::new(),
            damaged: BTreeSet::new(),
        }
    }

    /// The group of a partition.
    pub(super) fn group_of(&self, topic: &str, partition: u32) -> Option<u64> {
        self.metadata.group_of(topic, partition)
    }

    /// Orders something of the shard that owns a group, as soon as it looks at its records.
    pub(super) fn order(&mut self, kind: FromPython, group: u64, token: u64, body: &[u8]) {
        self.send(kind.code(), owner(group, self.shards), token, body);
    }

    /// What an earlier life was told of groups that are gone.
    pub(super) fn know_removed(&mut self, removed: BTreeSet<u64>) {
        self.reconciler.removed = removed;
    }

    pub(super) fn removed(self) -> BTreeSet<u64> {
        self.reconciler.removed
    }

    /// Does nothing until then.
    pub(super) fn stall(&mut self, until: u64) {
        self.stalled_until = self.stalled_until.max(until);
    }

    /// When it looks next.
    pub(super) fn next(&self) -> u64 {
        self.next.max(self.stalled_until)
    }

    /// Drains records, does what follows from some of them, and submits the answers.
    pub(super) fn turn(&mut self, now: u64, environment: &SimulatedEnvironment) -> Result<(), String> {
        self.next = now + 1 + self.random.below(LOOK);
        self.port.node.python_beats(environment.now());
        let mut bytes = Vec::new();
        if let Drained::Needs(more) = self.port.drain(&mut bytes, DRAIN_BYTES) {
            self.port.drain(&mut bytes, DRAIN_BYTES + more);
        }
        let mut rest = &bytes[..];
        while let Some((_, after)) = Record::split(rest) {
            self.received.push_back(rest[..rest.len() - after.len()].to_vec());
            rest = after;
        }
        // What is taken in one turn depends on how long each takes.
        let mut spent = 0;
        while spent < self.delay.max(1)
            && let Some(record) = self.received.pop_front()
        {
            spent += self.random.below(self.delay + 1);
            let (record, _) = Record::split(&record).ok_or("a record that is cut off")?;
            self.take(&record, now)?;
        }
        self.next += spent;
        self.answer_logins(now);
        self.order_groups(now);
        self.flush()
    }

    fn take(&mut self, record: &Record<'_>, now: u64) -> Result<(), String> {
        let Some(kind) = ToPython::from_code(record.kind) else {
            return Err(format!("a record of kind {}", record.kind));
        };
        match kind {
            ToPython::Login => {
                self.logins.insert((now + self.random.below(PASSWORD), record.token), ());
            }
            ToPython::Rows => self.metadata.load(record.body.get(1..).unwrap_or_default())?,
            ToPython::CaughtUp => {
                self.caught_up = true;
                self.reconciler.load(self.metadata.groups(), self.metadata.revision());
            }
            ToPython::Apply => {
                let outcome = self.metadata.apply(record.body)?;
                self.send(FromPython::Applied.code(), 0, record.token, &outcome.body());
                if self.caught_up {
                    let generations: BTreeMap<u64, u64> = self.metadata.groups().collect();
                    let revision = self.metadata.revision();
                    self.reconciler.change(&outcome.touched, &generations, revision);
                }
            }
            ToPython::Observed => self.reconciler.observe(record.shard, record.body)?,
            ToPython::Reconciled => {
                self.reconciler.answer(record.shard, record.token, record.body, now)?;
            }
            ToPython::Stopped => self.stopped = Some(record.body == [1]),
            ToPython::Started => self.tell_figures(),
            ToPython::Cut | ToPython::Adopted => self.told.push((kind, record.token, record.body.to_vec())),
            ToPython::NativeEvent => self.take_event(record.body),
            ToPython::Progress => {}
            other => return Err(format!("a record of kind {other:?}")),
        }
        Ok(())
    }

    fn take_event(&mut self, body: &[u8]) {
        let code = body.first_chunk().map(|bytes| u16::from_le_bytes(*bytes));
        let group = body.get(2..).and_then(|rest| rest.first_chunk()).map(|bytes| u64::from_le_bytes(*bytes));
        let of_damage = [Event::MessagesDamaged, Event::MessagesFenced];
        if of_damage.iter().any(|event| code == Some(event.code())) {
            self.damaged.extend(group);
        }
    }

    fn answer_logins(&mut self, now: u64) {
        while let Some(((due, token), ())) = self.logins.first_key_value() {
            let (due, token) = (*due, *token);
            if due > now {
                return;
            }
            self.logins.remove(&(due, token));
            self.send(FromPython::LoginVerdict.code(), 0, token, &[0; 5]);
        }
    }

    fn order_groups(&mut self, now: u64) {
        for orders in self.reconciler.plan(now) {
            self.send(FromPython::Reconcile.code(), orders.shard, orders.pass, &orders.body);
        }
        if let Some(revision) = self.reconciler.news() {
            self.send(FromPython::Converged.code(), 0, revision, &[]);
        }
        if !self.open && self.reconciler.is_converged() {
            self.open = true;
            self.send(FromPython::OpenDoors.code(), 0, 0, &[]);
        }
    }

    /// Says how full the disk is.
    pub(super) fn tell_figures(&mut self) {
        let mut body = vec![0; 2 * 4 + 5 * 8];
        put_u32(&mut body, 1);
        put_u64(&mut body, self.capacity);
        put_u64(&mut body, self.capacity);
        for name in ["host", "os", "1", "1"] {
            put_str32(&mut body, name);
        }
        self.send(FromPython::HostFigures.code(), 0, 0, &body);
    }

    fn send(&mut self, kind: u16, shard: u16, token: u64, body: &[u8]) {
        Record { kind, shard, token, body }.write(&mut self.outgoing);
    }

    fn flush(&mut self) -> Result<(), String> {
        if self.outgoing.is_empty() {
            return Ok(());
        }
        match self.port.submit(&self.outgoing) {
            Ok(()) => self.outgoing.clear(),
            Err(SubmitError::Busy { taken }) => drop(self.outgoing.drain(..taken)),
            Err(SubmitError::Malformed) => return Err("records of our own are refused".to_owned()),
        }
        Ok(())
    }
}
