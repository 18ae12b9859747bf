//! Reading for others while the groups are written: a few fetches at a time, several of one group if they come.
//!
//! Files only grow under a reader. What removes files of a group waits until nobody reads it, and lets nobody begin.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use super::fetch::{Fetch, Fetched, Fetching, Next};
use super::group::{Group, Order, Phase};
use super::index_cache::{IndexCache, IndexKey};
use super::locate::{LastBegin, Sought};
use super::places::{Place, Places};
use super::plan::{Plan, PlanResult};
use super::walk::FoundBatches;
use super::{CommittedBatch, Effect, GroupFigures, SegmentStore, StoreDamage, StoreFault};
use crate::index::Index;

/// Fetches of a store under way at a time: lanes of its shell behind those of [`super::StoreLimits::lanes`].
pub const READERS: u32 = 8;

/// All that reads.
#[derive(Debug)]
pub(super) struct Readers {
    lanes: Vec<Option<(u64, Box<Fetching>)>>,
    /// Groups with fetches that may begin.
    ready: VecDeque<u64>,
    indexes: IndexCache,
    places: Places,
    /// Indexes that a fetch is just making, and fetches that wait for one.
    reindexing: BTreeSet<IndexKey>,
    parked: Vec<(IndexKey, u64, Fetch)>,
}

impl Readers {
    pub(super) fn new() -> Self {
        Self {
            lanes: (0..READERS).map(|_| None).collect(),
            ready: VecDeque::new(),
            indexes: IndexCache::default(),
            places: Places::default(),
            reindexing: BTreeSet::new(),
            parked: Vec::new(),
        }
    }

    /// The segment of an index does not count any more.
    pub(super) fn forget_index(&mut self, key: IndexKey) {
        self.indexes.remove(key);
    }
}

impl SegmentStore {
    /// Reads batches of a group, which is opened if it is not: [`Effect::Fetched`].
    pub fn fetch(&mut self, group: u64, fetch: Fetch, effects: &mut Vec<Effect>) {
        self.group(group).reads.push(fetch);
        self.enqueue(group);
        self.pump(effects);
    }

    /// Whether anything was asked of a group.
    #[must_use]
    pub fn has(&self, group: u64) -> bool {
        self.groups.contains_key(&group)
    }

    /// Whether it is known what is on the disk of a group.
    #[must_use]
    pub fn is_open(&self, group: u64) -> bool {
        self.groups.get(&group).is_some_and(|found| found.phase == Phase::Open)
    }

    /// The last offset of a group that is on the disk; behind it the batches are in memory.
    #[must_use]
    pub fn last_on_disk(&self, group: u64) -> Option<u64> {
        self.groups.get(&group)?.last_on_disk()
    }

    /// Whether a batch of that time or a later one is on the disk.
    #[must_use]
    pub fn has_time_on_disk(&self, group: u64, time: u64) -> bool {
        self.groups.get(&group).is_some_and(|found| found.segment_with(Sought::Time(time)).is_some())
    }

    /// The committed batches of a group that are on no disk yet, oldest first.
    pub fn in_memory(&self, group: u64) -> impl Iterator<Item = &CommittedBatch> {
        self.groups.get(&group).into_iter().flat_map(Group::in_memory)
    }

    /// Where the last `count` messages of an open group begin, as of the message with offset `until`.
    #[must_use]
    pub fn last_begin(&self, group: u64, until: u64, count: u32) -> LastBegin {
        self.groups.get(&group).map_or(LastBegin::Unsettled, |found| found.last_begin(until, count))
    }

    /// Remembers where in a segment the batch with a message is, or will be: the next poll goes on there.
    pub fn remember(&mut self, group: u64, generation: u64, offset: u64, found: &FoundBatches, at: usize) {
        let place = Place { segment: found.segment, position: found.position + at as u64 };
        self.readers.places.keep(group, generation, offset, place);
    }

    /// Whether that is remembered of an offset: then a poll before has ended there.
    #[must_use]
    pub fn goes_on(&self, group: u64, generation: u64, offset: u64) -> bool {
        self.readers.places.get(group, generation, offset).is_some()
    }

    /// What an open group holds, on the disk and in memory.
    #[must_use]
    pub fn figures(&self, group: u64) -> Option<GroupFigures> {
        self.groups.get(&group).filter(|found| found.phase == Phase::Open).map(Group::figures)
    }

    /// Takes the end of a reading plan.
    pub(super) fn read_ended(&mut self, lane: u32, result: PlanResult, effects: &mut Vec<Effect>) {
        let lane = lane as usize;
        let Some((group, mut fetching)) = self.readers.lanes.get_mut(lane).and_then(Option::take) else {
            return;
        };
        let next = fetching.ended(result);
        self.go_on(lane, group, fetching, next, effects);
    }

    /// A group may have come to where its fetches can begin.
    pub(super) fn wake_readers(&mut self, group: u64) {
        if let Some(found) = self.groups.get_mut(&group)
            && found.reads.queue()
        {
            self.readers.ready.push_back(group);
        }
    }

    /// Tells everybody who waits for a group that is gone.
    pub(super) fn dismiss_readers(&mut self, group: u64, effects: &mut Vec<Effect>) {
        let Some(found) = self.groups.get_mut(&group) else { return };
        for fetch in found.reads.take_all() {
            effects.push(Effect::Fetched { group, asker: fetch.asker, fetched: Fetched::Gone });
        }
    }

    /// Gives free lanes to fetches.
    pub(super) fn pump_readers(&mut self, effects: &mut Vec<Effect>) {
        while let Some(lane) = self.readers.lanes.iter().position(Option::is_none) {
            let Some(group) = self.readers.ready.pop_front().filter(|_| !self.poison.is_set()) else {
                return;
            };
            let Some(found) = self.groups.get_mut(&group) else { continue };
            found.reads.unqueue();
            if found.phase == Phase::Damaged {
                self.answer_damaged(group, effects);
                continue;
            }
            if !found.lets_read() {
                continue;
            }
            if let Some(fetch) = found.reads.pop() {
                self.begin_fetch(lane, group, fetch, effects);
            }
            self.wake_readers(group);
        }
    }

    /// The unsealed segment of a group may have an index now, or be gone: who waits for that looks again.
    pub(super) fn answer_unindexed(&mut self, group: u64) {
        if let Some(found) = self.groups.get_mut(&group)
            && found.tail.as_ref().is_none_or(|tail| tail.surveyed)
        {
            found.reads.wake_unindexed();
            self.wake_readers(group);
        }
    }

    fn answer_damaged(&mut self, group: u64, effects: &mut Vec<Effect>) {
        let Some(found) = self.groups.get_mut(&group) else { return };
        let unknown = StoreDamage { path: found.home.segments(), fault: StoreFault::Missing };
        let damage = found.damage.clone().unwrap_or(unknown);
        for fetch in found.reads.take_waiting() {
            let fetched = Fetched::Damaged(damage.clone());
            effects.push(Effect::Fetched { group, asker: fetch.asker, fetched });
        }
    }

    fn begin_fetch(&mut self, lane: usize, group: u64, fetch: Fetch, effects: &mut Vec<Effect>) {
        let Some(found) = self.groups.get_mut(&group) else { return };
        let asker = fetch.asker;
        let early = match fetch.sought {
            _ if fetch.generation != found.generation => Some(Fetched::Purged),
            Sought::Opened => Some(Fetched::Opened),
            _ => None,
        };
        if let Some(fetched) = early {
            effects.push(Effect::Fetched { group, asker, fetched });
            return;
        }
        if !found.is_indexed(fetch.sought) {
            found.reads.push_unindexed(fetch);
            self.enqueue(group);
            return;
        }
        let Some(view) = found.segment_with(fetch.sought) else {
            effects.push(Effect::Fetched { group, asker, fetched: Fetched::Nothing });
            return;
        };
        if found.is_lost(&view.entry) {
            // A file of this name may be another one, or have been put there later.
            let damage = StoreDamage { path: found.home.segment(&view.entry), fault: StoreFault::Missing };
            effects.push(Effect::Fetched { group, asker, fetched: Fetched::Damaged(damage) });
            return;
        }
        let place = match fetch.sought {
            Sought::Offset(offset) => self.readers.places.get(group, fetch.generation, offset),
            _ => None,
        };
        found.reads.begin();
        let home = (group, found.home.clone());
        let mut fetching = Box::new(Fetching::new(fetch, view, home, self.limits.batch_bytes_max, place));
        let index = self.readers.indexes.get(view.key(group));
        let next = match (&found.tail, index.filter(|index| index.is_of(group, &view.entry))) {
            (Some(tail), _) if !view.entry.is_sealed() => fetching.walk(tail.places()),
            (_, Some(index)) => fetching.walk(&index.entries),
            (_, None) => fetching.read_index(),
        };
        self.go_on(lane, group, fetching, next, effects);
    }

    fn go_on(
        &mut self,
        lane: usize,
        group: u64,
        mut fetching: Box<Fetching>,
        mut next: Next,
        effects: &mut Vec<Effect>,
    ) {
        let key = fetching.view.key(group);
        loop {
            next = match next {
                Next::Run(plan) => return self.run_reader(lane, group, fetching, plan, effects),
                Next::Ended(fetched) => {
                    let asker = fetching.fetch.asker;
                    if matches!(&fetched, Fetched::Damaged(damage) if damage.fault.is_of_the_whole_file())
                        && !self.owner.has_peers
                        && let Some(found) = self.groups.get_mut(&group)
                    {
                        found.close_missing_file(&fetching.view.entry);
                    }
                    effects.push(Effect::Fetched { group, asker, fetched });
                    if fetching.is_reindexing() {
                        self.reindexed(key);
                    }
                    return self.reader_done(group);
                }
                Next::Indexed(index, write) => {
                    if write {
                        self.write_index(group, &fetching, &index);
                    }
                    self.reindexed(key);
                    self.readers.indexes.put(key, index.clone());
                    fetching.walk(&index.entries)
                }
                Next::Reindex if !self.readers.reindexing.insert(key) => {
                    self.readers.parked.push((key, group, fetching.fetch));
                    return self.reader_done(group);
                }
                Next::Reindex => {
                    self.readers.indexes.remove(key);
                    fetching.reindex()
                }
            };
        }
    }

    fn run_reader(
        &mut self,
        lane: usize,
        group: u64,
        fetching: Box<Fetching>,
        plan: Plan,
        effects: &mut Vec<Effect>,
    ) {
        self.readers.lanes[lane] = Some((group, fetching));
        let lane = self.limits.lanes + u32::try_from(lane).unwrap_or(0);
        effects.push(Effect::Run { lane, plan });
    }

    /// An index is made, or will not be: those that wait for it look again.
    fn reindexed(&mut self, key: IndexKey) {
        self.readers.reindexing.remove(&key);
        for (_, group, fetch) in
            self.readers.parked.extract_if(.., |(parked, ..)| *parked == key).collect::<Vec<_>>()
        {
            if let Some(found) = self.groups.get_mut(&group) {
                found.reads.push(fetch);
                self.wake_readers(group);
            }
        }
    }

    fn write_index(&mut self, group: u64, fetching: &Fetching, index: &Arc<Index>) {
        if let Some(found) = self.groups.get_mut(&group) {
            found.orders.push_back(Order::WriteIndex { entry: fetching.view.entry, bytes: index.encode() });
            self.enqueue(group);
        }
    }

    fn reader_done(&mut self, group: u64) {
        if let Some(found) = self.groups.get_mut(&group) {
            found.reads.end();
            self.enqueue(group);
        }
    }
}
