//! One replica, driven by hand.

use ng_wire::replica::{
    BodyCheck, DoViewChange, Level, LogOperation, Message, Op, Prepare, PrepareHeader, PrepareOk, Standing,
    StartView, Tail, View,
};

use super::merging::{chain, vote};
use crate::effect::ViewRecord;
use crate::{
    Answer, Directory, Effect, Effects, Event, Limits, Record, Recovery, Replica, Request, Setup, Ticks,
    Timing,
};

/// A replica and what it did last.
pub(crate) struct Hand {
    pub(crate) replica: Replica,
    pub(crate) done: Vec<Effect>,
    pub(crate) now: Ticks,
}

/// A member of a partition group with small limits.
pub(crate) fn setup(replica: u8, replicas: u8) -> Setup {
    let limits = Limits { pipeline: 3, backlog: 8, retained: 2, applying: 2, repair: 4, ..Limits::default() };
    let timing = Timing { heartbeat: 50, suspicion: 200, resend: 50 };
    Setup { group: 7, epoch: 1, replica, replicas, limits, timing, clients: None }
}

/// The log that tests share: ops 1 to 6 of view 1, batches without a client.
pub(crate) fn log() -> Vec<PrepareHeader> {
    let mut log = chain(View(1), 0);
    for op in 1..=6 {
        log.push(following(&log[op - 1], View(1)));
    }
    log
}

/// A batch that leads on from `parent`.
pub(crate) fn following(parent: &PrepareHeader, view: View) -> PrepareHeader {
    let operation = LogOperation::Batch.code();
    PrepareHeader { op: parent.op.next(), parent: parent.checksum, view, operation, ..*parent }.sealed()
}

/// The record of a view that was taken over with this log.
pub(crate) fn taken_over(view: View, commit: Op, headers: &[PrepareHeader]) -> Record {
    let head = headers.last().expect("an anchor").op;
    Record::View(ViewRecord { view, log_view: view, commit, head, headers: headers.to_vec() })
}

pub(crate) fn start_view(view: View, commit_max: Op, nonce: u64, headers: &[PrepareHeader]) -> Message {
    Message::StartView(StartView { view, commit_max, nonce, headers: headers.to_vec() })
}

impl Hand {
    /// The nonce of every replica driven by hand.
    pub(crate) const NONCE: u64 = 99;

    /// Starts with a journal of records, and perhaps something lost after them.
    pub(crate) fn start(setup: Setup, records: &[Record], lost: Option<Tail>) -> Self {
        let mut recovery = Recovery::new(&setup, true);
        records.iter().for_each(|record| recovery.replay(record, Standing::Present));
        if let Some(tail) = lost {
            recovery.lost(tail);
        }
        Self::open(setup, recovery.finish())
    }

    pub(crate) fn open(setup: Setup, directory: Directory) -> Self {
        let mut effects = Effects::default();
        let replica = Replica::open(setup, directory, Self::NONCE, 0, &mut effects).expect("a sound setup");
        Self { replica, done: effects.drain().collect(), now: 0 }
    }

    /// A backup of three, in normal operation in view 1 (primary 1) with this log of which `commit` is committed.
    pub(crate) fn backup(log: &[PrepareHeader], commit: Op) -> Self {
        let records: Vec<Record> = log[1..].iter().map(|header| Record::Prepare(*header)).collect();
        let mut hand = Self::start(
            setup(0, 3),
            &[&[taken_over(View(1), Op::ZERO, &log[..1])], &records[..]].concat(),
            None,
        );
        hand.hear(1, start_view(View(1), commit, Self::NONCE, log));
        hand
    }

    /// The primary of three in view 1, just elected with this log.
    pub(crate) fn primary(log: &[PrepareHeader]) -> Self {
        let records: Vec<Record> = log[1..].iter().map(|header| Record::Prepare(*header)).collect();
        let mut hand = Self::start(setup(1, 3), &records, None);
        let present = vec![Standing::Present; log.len() - 1];
        for from in [0, 1] {
            let vote = DoViewChange { view: View(1), ..vote(log, View(0), &present) };
            hand.hear(from, Message::DoViewChange(vote));
        }
        hand
    }

    pub(crate) fn step(&mut self, event: Event) {
        let mut effects = Effects::default();
        self.replica.step(event, self.now, &mut effects);
        self.done = effects.drain().collect();
    }

    pub(crate) fn hear(&mut self, from: u8, message: Message) {
        self.step(Event::Message { from, message });
    }

    /// Time passes until the next deadline.
    pub(crate) fn wait(&mut self) {
        self.now = self.replica.deadline().expect("a deadline").max(self.now);
        self.step(Event::Tick);
    }

    pub(crate) fn prepare(&mut self, from: u8, view: View, header: PrepareHeader) {
        self.hear(from, Message::Prepare(Prepare { view, commit_max: Op::ZERO, header }));
    }

    pub(crate) fn ok(&mut self, from: u8, header: &PrepareHeader) {
        let view = self.replica.view();
        self.hear(from, Message::PrepareOk(PrepareOk { view, op: header.op, checksum: header.checksum }));
    }

    pub(crate) fn ask(&mut self, request: u64) -> Option<Answer> {
        self.step(Event::Request(Request {
            client: 5,
            session: 1,
            request,
            operation: LogOperation::Batch.code(),
            level: Level::Persisted,
            timestamp: 0,
            body_checksum: request.into(),
            body_bytes: 0,
            body_check: BodyCheck::Whole,
        }));
        self.done.iter().find_map(|effect| match effect {
            Effect::Reply { answer, .. } => Some(answer.clone()),
            _ => None,
        })
    }

    /// What was sent to a replica.
    pub(crate) fn sent(&self, wanted: u8) -> Vec<&Message> {
        let to = |effect| match effect {
            &Effect::Send { to, ref message, .. } if to == wanted => Some(message),
            _ => None,
        };
        self.done.iter().filter_map(to).collect()
    }

    /// The last vote that was cast.
    pub(crate) fn vote(&self) -> DoViewChange {
        let mut votes = self.done.iter().filter_map(|effect| match effect {
            Effect::Send { message: Message::DoViewChange(vote), .. } => Some(vote.clone()),
            _ => None,
        });
        votes.next_back().expect("a vote was cast")
    }

    /// The ops acknowledged to the primary, with the position each waits for.
    pub(crate) fn acknowledged(&self) -> Vec<(Op, crate::Position)> {
        let ok = |effect: &Effect| match effect {
            Effect::Send { after, message: Message::PrepareOk(ok), .. } => Some((ok.op, *after)),
            _ => None,
        };
        self.done.iter().filter_map(ok).collect()
    }

    pub(crate) fn appended(&self) -> Vec<(crate::Position, &Record)> {
        let append = |effect| match effect {
            &Effect::Append { position, ref record } => Some((position, record)),
            _ => None,
        };
        self.done.iter().filter_map(append).collect()
    }

    pub(crate) fn dropped(&self, reason: crate::Drop) -> bool {
        self.done.contains(&Effect::Dropped(reason))
    }
}
