//! One node: a replica, its disk, its state machine, and the messages that wait for a sync.

use ng_wire::replica::{Commit, Message, Op, PrepareHeader};

use super::disk::{Disk, Snapshot};
use super::pairs::Pairs;
use super::seed::mix;
use crate::plant::Plant;
use crate::{Directory, Effect, Effects, Event, Position, Record, Replica, Setup, Ticks};

/// What a node asks of the world around it.
#[derive(Debug)]
pub(crate) enum Asks {
    Deliver { to: u8, message: Message },
    Sync,
    Executed { header: PrepareHeader, reply: Vec<u8> },
    Answer { client: u128, request: u64, answer: crate::Answer },
    Fetch { from: u8 },
    Stuck(String),
}

/// Every how many beats a group without news is told of.
const TURN: u64 = 20;

/// What one node tells another at each beat.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beat {
    life: u64,
    entry: Option<Commit>,
}

#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) setup: Setup,
    pub(crate) replica: Option<Replica>,
    pub(crate) disk: Disk,
    /// How often it was started.
    pub(crate) life: u64,
    pub(crate) digests: Vec<u64>,
    pub(crate) fetched: Option<Snapshot>,
    pub(crate) syncing: bool,
    /// The last place that a merge could not decide.
    pub(crate) doubt: Option<Op>,
    /// When a merge said last that it never will.
    pub(crate) halted: Option<Ticks>,
    pairs: Pairs,
    beats: u64,
    /// What the beat before could say of the group.
    said: Option<Commit>,
    planted: Option<Plant>,
    checkpoint_every: u64,
    appended: Position,
    synced: Position,
    held: Vec<(Position, u8, Message)>,
    effects: Effects,
}

impl Node {
    pub(crate) fn new(setup: Setup, planted: Option<Plant>, checkpoint_every: u64) -> Self {
        Self {
            setup,
            replica: None,
            disk: Disk::founded(),
            life: 0,
            digests: Vec::new(),
            fetched: None,
            syncing: false,
            doubt: None,
            halted: None,
            pairs: Pairs::new(setup.replicas, 0),
            beats: 0,
            said: None,
            planted,
            checkpoint_every,
            appended: Position::RECOVERED,
            synced: Position::RECOVERED,
            held: Vec::new(),
            effects: Effects::default(),
        }
    }

    pub(crate) fn start(&mut self, now: Ticks, asks: &mut Vec<Asks>) {
        self.life += 1;
        self.pairs = Pairs::new(self.setup.replicas, now);
        self.syncing = false;
        self.held.clear();
        self.appended = Position::RECOVERED;
        self.synced = Position::RECOVERED;
        self.fetched = None;
        let directory = self.disk.recover(&self.setup);
        if matches!(directory, Directory::Blank) {
            self.disk = Disk::blank();
        }
        self.digests =
            self.disk.checkpoint.as_ref().map(|snapshot| snapshot.digests.clone()).unwrap_or_default();
        let nonce = mix(u64::from(self.setup.replica) << 32 | self.life) | 1;
        let (setup, bug, effects) = (self.setup, self.planted, &mut self.effects);
        let replica =
            Replica::open_planted(setup, directory, nonce, now, bug, effects).expect("a sound setup");
        self.replica = Some(replica);
        self.perform(now, asks);
    }

    pub(crate) fn crash(&mut self) {
        self.replica = None;
    }

    pub(crate) fn step(&mut self, event: Event, now: Ticks, asks: &mut Vec<Asks>) {
        if let Some(replica) = &mut self.replica {
            replica.step(event, now, &mut self.effects);
            self.perform(now, asks);
        }
    }

    /// Hears a message.
    pub(crate) fn hear(&mut self, from: u8, message: Message, now: Ticks, asks: &mut Vec<Asks>) {
        self.pairs.heard(from, now);
        self.step(Event::Message { from, message }, now, asks);
    }

    /// Hears a beat: the life of the node that sent it, and what that says of the group.
    pub(crate) fn hear_beat(&mut self, from: u8, beat: Beat, now: Ticks, asks: &mut Vec<Asks>) {
        if self.pairs.beat(from, beat.life, now) {
            self.lose(from, now, asks);
        }
        if let Some(commit) = beat.entry {
            self.step(Event::Message { from, message: Message::Commit(commit) }, now, asks);
        }
    }

    /// What it tells the other nodes now and then: the group only if there is news, or if it is its turn.
    pub(crate) fn beat(&mut self) -> Option<Beat> {
        let said = self.replica.as_ref()?.beat();
        self.beats += 1;
        let entry = said.filter(|_| said != self.said || self.beats.is_multiple_of(TURN));
        self.said = said;
        Some(Beat { life: self.life, entry })
    }

    /// Looks for nodes that fell silent.
    pub(crate) fn look_around(&mut self, now: Ticks, asks: &mut Vec<Asks>) {
        for node in self.pairs.fallen_silent(self.setup.timing.suspicion, now) {
            self.lose(node, now, asks);
        }
    }

    fn lose(&mut self, node: u8, now: Ticks, asks: &mut Vec<Asks>) {
        let awaited = self.replica.as_ref().and_then(Replica::awaited_primary);
        if awaited == Some(node) {
            self.step(Event::PrimarySilent, now, asks);
        }
    }

    /// The mark that a sync begun now will reach.
    pub(crate) fn sync_mark(&self) -> (Position, usize) {
        (self.appended, self.disk.len())
    }

    pub(crate) fn synced(&mut self, (position, len): (Position, usize), asks: &mut Vec<Asks>) {
        self.disk.sync(len);
        self.synced = position;
        self.syncing = false;
        let (ready, held) = self.held.drain(..).partition(|(after, ..)| *after <= position);
        self.held = held;
        asks.extend(Vec::into_iter(ready).map(|(_, to, message)| Asks::Deliver { to, message }));
        if self.appended > position {
            asks.push(Asks::Sync);
        }
    }

    /// The state as it is now, for another replica.
    pub(crate) fn snapshot(&self) -> Option<Snapshot> {
        let replica = self.replica.as_ref()?;
        let anchor = replica.anchor()?;
        let executed = usize::try_from(anchor.op.0).expect("a short history");
        let digests = self.digests.get(..executed)?.to_vec();
        Some(Snapshot { anchor, clients: replica.clients().cloned(), digests })
    }

    /// A state is here: it can be taken over unless something is being executed.
    pub(crate) fn fetched(&mut self, snapshot: Snapshot) -> Event {
        let heard = self.replica.as_ref().map_or(0, |replica| replica.commit_min().0);
        if self.digests.len() as u64 > heard {
            return Event::FetchFailed;
        }
        let (anchor, clients) = (snapshot.anchor, snapshot.clients.clone().map(Box::new));
        self.fetched = Some(snapshot);
        Event::Fetched { anchor, clients }
    }

    fn perform(&mut self, now: Ticks, asks: &mut Vec<Asks>) {
        let mut unreadable = Vec::new();
        for effect in std::mem::take(&mut self.effects).drain() {
            match effect {
                Effect::Append { position, record } => self.append(position, record, asks),
                Effect::Send { after, to, message } => match &message {
                    Message::Prepare(prepare) if !self.disk.reads(prepare.header.checksum) => {
                        unreadable.push(prepare.header);
                    }
                    _ if after <= self.synced => asks.push(Asks::Deliver { to, message }),
                    _ => self.held.push((after, to, message)),
                },
                Effect::Apply(header) => self.execute(header, asks),
                Effect::Reply { client, request, answer } => {
                    asks.push(Asks::Answer { client, request, answer })
                }
                Effect::Fetch { from, .. } => asks.push(Asks::Fetch { from }),
                Effect::Install { .. } => {
                    let snapshot = self.fetched.take().expect("fetched before installed");
                    self.digests.clone_from(&snapshot.digests);
                }
                Effect::Diverged(op) => asks.push(Asks::Stuck(format!("diverged at {op}"))),
                Effect::Undecidable { op, all_voted, .. } => {
                    self.doubt = Some(op);
                    self.halted = all_voted.then_some(now).or(self.halted);
                }
                Effect::Evicted(_) | Effect::Dropped(_) => {}
            }
        }
        for header in unreadable {
            self.step(Event::Unreadable { op: header.op, checksum: header.checksum }, now, asks);
        }
    }

    fn append(&mut self, position: Position, record: Record, asks: &mut Vec<Asks>) {
        if let Record::Install(_) = record {
            // The artifact was synced before it was reported as fetched.
            self.disk.checkpoint.clone_from(&self.fetched);
        }
        self.disk.append(record);
        self.appended = position;
        if !self.syncing {
            self.syncing = true;
            asks.push(Asks::Sync);
        }
    }

    fn execute(&mut self, header: PrepareHeader, asks: &mut Vec<Asks>) {
        let last = self.digests.last().copied().unwrap_or_default();
        let low = header.checksum.to_le_bytes();
        let digest = mix(last ^ u64::from_le_bytes(*low.first_chunk().expect("sixteen bytes")));
        self.digests.push(digest);
        asks.push(Asks::Executed { header, reply: digest.to_le_bytes().to_vec() });
    }

    /// Makes the executed state durable now and then; up to where.
    pub(crate) fn checkpoint(&mut self) -> Option<Op> {
        let executed = self.replica.as_ref().map_or(0, |replica| replica.commit_min().0);
        let due = executed > 0 && executed.is_multiple_of(self.checkpoint_every);
        due.then(|| {
            self.disk.checkpoint = self.snapshot();
            Op(executed)
        })
    }
}
