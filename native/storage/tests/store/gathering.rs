//! How much of a steady stream is written at a time.

use std::collections::BTreeMap;
use std::time::Duration;

use ng_io::Instant;
use ng_storage::home::Home;
use ng_storage::store::{Effect, Event, SegmentStore, StoreOwner};

use crate::rig::{LIMITS, NODE, batch};

const GROUP: u64 = 7;
const GROUPS: u64 = 64;
const PAYLOAD: [u8; 100] = [7; 100];

/// A store whose disk is the test, which ends a plan when it likes.
struct Stream {
    store: SegmentStore,
    now: Instant,
    /// Those of each group.
    batches: BTreeMap<u64, u64>,
    /// Lanes of plans that were begun and have not ended.
    running: Vec<u32>,
    begun: usize,
}

impl Stream {
    fn new() -> Self {
        let owner = StoreOwner { node: NODE, shard: 0, incarnation: 1, has_peers: false };
        let mut store = SegmentStore::new(owner, Home::new("nowhere"), LIMITS);
        (GROUP..GROUP + GROUPS).for_each(|group| store.begin(group));
        Self { store, now: Instant::from_nanos(1), batches: BTreeMap::new(), running: Vec::new(), begun: 0 }
    }

    /// Appends a batch to a group; returns how many it has.
    fn append(&mut self, group: u64) -> u64 {
        let mut effects = Vec::new();
        let batches = self.batches.entry(group).or_default();
        let next = batch(*batches + 1, 0, *batches, &PAYLOAD);
        *batches += 1;
        let count = *batches;
        self.store.append(group, next, self.now, &mut effects);
        self.heed(effects);
        count
    }

    fn end_plan(&mut self) {
        let mut effects = Vec::new();
        if let Some(lane) = self.running.pop() {
            self.store.step(Event::Ended { lane, result: Ok(Vec::new()) }, self.now, &mut effects);
        }
        self.heed(effects);
    }

    /// The first batch on the disk is followed by the reserve, which is none of the writes that are counted.
    fn write_reserve(&mut self) {
        let begun = self.begun;
        let mut effects = Vec::new();
        self.store.step(Event::Due, self.now + Duration::from_nanos(1), &mut effects);
        self.heed(effects);
        self.end_plan();
        assert_eq!(std::mem::replace(&mut self.begun, begun), begun + 1);
    }

    fn heed(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            if let Effect::Run { lane, .. } = effect {
                self.running.push(lane);
                self.begun += 1;
            }
        }
    }
}

/// Something came in behind each write, so each was followed by one for that alone, and a sync.
#[test]
fn what_comes_while_a_write_is_under_way_waits_until_there_is_enough_of_it() {
    let mut stream = Stream::new();
    let mut enough = 0;
    while stream.running.is_empty() {
        enough = stream.append(GROUP);
    }
    for _ in 0..10 * enough {
        stream.append(GROUP);
        stream.end_plan();
    }
    assert!(stream.begun <= 22, "{} plans for {} batches, {enough} each", stream.begun, 11 * enough);
}

/// Each of them has too little for a write of its own, and all together fill the memory.
#[test]
fn many_groups_with_little_each_leave_room_for_more() {
    let mut stream = Stream::new();
    for round in 0..40 {
        for group in GROUP..GROUP + GROUPS {
            stream.append(group);
            stream.end_plan();
            let held = stream.store.buffered_bytes();
            assert!(stream.store.has_room(), "round {round}, group {group}: {held} bytes");
        }
    }
}

#[test]
fn what_was_asked_for_is_written_however_little_it_is() {
    let mut stream = Stream::new();
    stream.append(GROUP);
    let mut effects = Vec::new();
    stream.store.flush(GROUP, &mut effects);
    stream.heed(effects);
    stream.append(GROUP);
    stream.end_plan();
    assert_eq!((stream.begun, stream.store.synced(GROUP)), (1, 1), "the second batch was not asked for");
    stream.write_reserve();
    stream.now = stream.store.next_deadline().expect("it has a time of its own");
    let mut effects = Vec::new();
    stream.store.step(Event::Due, stream.now + Duration::from_nanos(1), &mut effects);
    stream.heed(effects);
    stream.end_plan();
    assert_eq!((stream.begun, stream.store.synced(GROUP)), (2, u64::MAX));
}
