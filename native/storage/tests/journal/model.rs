//! What may be found after a crash, kept beside the journal: per op, the last state that was acknowledged and every state
//! that was written since.

use std::collections::BTreeMap;

use ng_io::simulated::Random;
use ng_storage::journal::recovery::RecoveredGroup;
use ng_storage::journal::{Event, Position, Refused, SlotState};
use ng_storage::record::{RecordHeader, RecordKind};
use ng_storage::record_body::ViewBody;

use crate::rig::{Found, Rig, prepare};

const GROUPS: u64 = 3;

/// A state of an op: a prepare's identity, or nothing; and the block that made it so.
type State = (u64, Option<u128>);

#[derive(Default)]
struct Log {
    /// By op; the first state of each is the one that was acknowledged.
    states: BTreeMap<u64, Vec<State>>,
    next: u64,
    view: u64,
    /// View records that are there or may become so: the block, and what it says.
    views: Vec<(u64, ViewBody)>,
    /// Every view record ever appended: another crash may bring any of them up.
    appended: Vec<ViewBody>,
    /// The view is one that was voted for, and no log of it is there yet.
    voting: bool,
    log_view: u64,
    floor: u64,
}

pub(crate) struct Model {
    logs: BTreeMap<u64, Log>,
    bodies: BTreeMap<u128, Vec<u8>>,
    headers: BTreeMap<u128, RecordHeader>,
    random: Random,
    pub(crate) acknowledged: u64,
    pub(crate) refused: u64,
}

impl Model {
    pub(crate) fn new(seed: u64) -> Self {
        let log = || Log { next: 1, ..Log::default() };
        Self {
            logs: (1..=GROUPS).map(|group| (group, log())).collect(),
            bodies: BTreeMap::new(),
            headers: BTreeMap::new(),
            random: Random::new(seed),
            acknowledged: 0,
            refused: 0,
        }
    }

    pub(crate) fn floors(&self) -> BTreeMap<u64, u64> {
        self.logs.iter().map(|(group, log)| (*group, log.floor)).collect()
    }

    /// One random act of a shard.
    pub(crate) fn act(&mut self, rig: &mut Rig) {
        let group = 1 + self.random.below(GROUPS);
        match self.random.below(20) {
            0..12 => self.append(rig, group),
            12 => {
                let votes = self.random.flip();
                self.change_view(rig, group, votes);
            }
            13 => self.release(rig, group),
            14 => rig.step(Event::Idle),
            _ => {
                let nanos = self.random.below(600_000);
                rig.work(nanos);
            }
        }
        self.acknowledge(rig.durable);
    }

    fn append(&mut self, rig: &mut Rig, group: u64) {
        if self.logs[&group].voting {
            self.change_view(rig, group, false);
        }
        let length = match self.random.below(8) {
            0 => self.random.below(20_000),
            1..4 => 0,
            _ => self.random.below(3_000),
        };
        let fill = self.random.next().to_le_bytes()[0];
        let body = vec![fill; usize::try_from(length).expect("small")];
        let log = &self.logs[&group];
        let header = prepare(group, log.next, log.view, &body);
        match rig.append(header, body.clone()) {
            Ok(position) => {
                let checksum = header.checksum();
                self.bodies.insert(checksum, body);
                self.headers.insert(checksum, header);
                let log = self.logs.get_mut(&group).expect("a group");
                log.note(log.next, position, Some(checksum));
                log.next += 1;
            }
            Err(Refused::Busy | Refused::Window) => {
                self.refused += 1;
                self.release(rig, group);
                rig.work(300_000);
            }
            Err(other) => panic!("{group}/{}: {other}; {:?}", log.next, rig.journal.locate(group, log.next)),
        }
    }

    /// A vote for the next view, or the view that was voted for, or else the next, with a log that may be shorter.
    fn change_view(&mut self, rig: &mut Rig, group: u64, votes: bool) {
        let log = self.logs.get_mut(&group).expect("a group");
        let cut = if votes { 0 } else { self.random.below(4) };
        let head = (log.next - 1).saturating_sub(cut).max(log.floor);
        let view = if log.voting && !votes { log.view } else { log.view + 1 };
        let log_view = if votes { log.log_view } else { view };
        let listed = (log.floor + 1..=head).rev().take(3).filter_map(|op| log.current(op));
        let headers = listed.filter(|_| !votes).map(|checksum| self.headers[&checksum]).collect();
        let body = ViewBody { view, log_view, commit: log.floor, head, headers };
        let bytes = body.encode();
        let request = rig.journal.synced_through();
        let header = RecordHeader { view, request, ..RecordHeader::of(RecordKind::View, group, &bytes) };
        let position = rig.append(header, bytes).expect("there is room for what cannot wait");
        log.view = view;
        log.voting = votes;
        log.appended.push(body.clone());
        log.views.push((position.block, body));
        if !votes {
            log.log_view = view;
            for op in head + 1..log.next {
                log.note(op, position, None);
            }
            log.next = head + 1;
        }
    }

    /// A manifest in force says that a part of what is acknowledged is safe elsewhere.
    fn release(&mut self, rig: &mut Rig, group: u64) {
        let log = self.logs.get_mut(&group).expect("a group");
        let settled = |states: &Vec<State>| states.len() == 1 && states[0].0 <= rig.durable;
        let safe = (log.floor + 1..log.next).take_while(|op| log.states.get(op).is_some_and(settled)).count();
        log.floor += self.random.below(safe as u64 + 1);
        log.states = log.states.split_off(&(log.floor + 1));
        rig.step(Event::Released { group, op: log.floor });
    }

    fn acknowledge(&mut self, through: u64) {
        for log in self.logs.values_mut() {
            for states in log.states.values_mut() {
                while states.len() > 1 && states[1].0 <= through {
                    states.remove(0);
                    self.acknowledged += 1;
                }
            }
        }
    }

    /// Holds what a process found against what may be there, and takes it as the state to go on from.
    pub(crate) fn judge(&mut self, found: &Found, durable: u64, story: &str) {
        assert_eq!(found.recovered.damage, [], "{story}: nothing was damaged");
        for (group, op) in found.recovered.ops() {
            assert!(self.logs[&group].states.contains_key(&op), "{story}: {group}/{op} was never appended");
        }
        for (group, log) in &mut self.logs {
            let view = found.view(*group);
            log.judge_views(found.group(*group), durable, &format!("{story}: group {group}"));
            for (op, states) in &mut log.states {
                let located = found.recovered.locate(*group, *op);
                let checksum = located.map(|located| located.checksum);
                let allowed = states.iter().any(|(_, state)| *state == checksum);
                assert!(allowed, "{story}: {group}/{op} is {located:?}, not one of {states:x?}");
                if let (Some(located), Some(checksum)) = (located, checksum) {
                    assert_eq!(located.state, SlotState::Present, "{story}: {group}/{op}");
                    assert_eq!(found.body(*group, *op).as_ref(), self.bodies.get(&checksum), "{story}");
                }
                // What was found is acknowledged with the first thing that the next incarnation makes durable. Until
                // then another crash may bring up any of the others: a lost truncation, a lost write.
                for state in &mut states[1..] {
                    state.0 = durable + 1;
                }
                if states.len() > 1 || states[0].1 != checksum {
                    states.push((durable + 1, checksum));
                }
            }
            log.view = view;
            // One that was not acknowledged may be lost for good, and its block's number will be passed.
            log.views.retain(|(block, _)| *block <= durable);
            log.take_views(found.group(*group), durable);
            let there =
                log.states.iter().filter(|(_, states)| states.last().is_some_and(|last| last.1.is_some()));
            log.next = there.map(|(op, _)| op + 1).max().unwrap_or(log.floor + 1);
        }
    }
}

impl Log {
    fn note(&mut self, op: u64, position: Position, state: Option<u128>) {
        self.states.entry(op).or_insert_with(|| vec![(0, None)]).push((position.block, state));
    }

    /// The last log and the last view record that were acknowledged are there, or later ones that were appended.
    fn judge_views(&self, found: Option<&RecoveredGroup>, durable: u64, story: &str) {
        let acknowledged = self.views.iter().filter(|(block, _)| *block <= durable).map(|(_, body)| body);
        let last = acknowledged.clone().map(|body| body.view).max();
        let last_log = acknowledged.filter(|body| body.view == body.log_view).map(|body| body.view).max();
        let log = found.and_then(|found| found.log.as_ref()).map(|(_, body)| body);
        let vote = found.and_then(|found| found.vote.as_ref()).map(|(_, body)| body);
        assert!(log.map(|body| body.view) >= last_log, "{story}: log {log:?} is older than {last_log:?}");
        let newest = vote.or(log).map(|body| body.view);
        assert!(newest >= last, "{story}: view {newest:?} is older than {last:?}");
        assert!(log.is_none_or(|body| body.view == body.log_view), "{story}: {log:?} takes no log over");
        assert!(vote.is_none_or(|body| body.view > body.log_view), "{story}: {vote:?} is no vote");
        for body in log.iter().chain(&vote) {
            assert!(self.appended.contains(body), "{story}: {body:?}");
        }
    }

    /// What was found is what there is, and is acknowledged with the first thing that becomes so.
    fn take_views(&mut self, found: Option<&RecoveredGroup>, durable: u64) {
        let log = found.and_then(|found| found.log.as_ref()).map(|(_, body)| body);
        let vote = found.and_then(|found| found.vote.as_ref()).map(|(_, body)| body);
        self.log_view = log.map_or(0, |body| body.view);
        // Prepares of that view say that its log was taken over, and lost: they cannot be made again.
        let prepared = found.and_then(|found| found.prepares.iter().map(|there| there.header.view).max());
        self.voting = vote.is_some_and(|body| body.view == self.view && prepared < Some(body.view));
        for body in [log, vote].into_iter().flatten() {
            if !self.views.iter().any(|(_, known)| known == body) {
                self.views.push((durable + 1, body.clone()));
            }
        }
    }

    fn current(&self, op: u64) -> Option<u128> {
        self.states.get(&op)?.last()?.1
    }
}
