//! How much of a steady stream is written at a time.

use std::time::Duration;

use ng_io::Instant;
use ng_storage::home::Home;
use ng_storage::store::{Effect, Event, SegmentStore, StoreOwner};

use crate::rig::{LIMITS, NODE, batch};

const GROUP: u64 = 7;
const PAYLOAD: [u8; 100] = [7; 100];

/// A store whose disk is the test, which ends a plan when it likes.
struct Stream {
    store: SegmentStore,
    now: Instant,
    batches: u64,
    /// Lanes of plans that were begun and have not ended.
    running: Vec<u32>,
    begun: usize,
}

impl Stream {
    fn new() -> Self {
        let owner = StoreOwner { node: NODE, shard: 0, incarnation: 1 };
        let mut store = SegmentStore::new(owner, Home::new("nowhere"), LIMITS);
        store.begin(GROUP);
        Self { store, now: Instant::from_nanos(1), batches: 0, running: Vec::new(), begun: 0 }
    }

    fn append(&mut self) {
        let mut effects = Vec::new();
        let next = batch(self.batches + 1, 0, self.batches, &PAYLOAD);
        self.store.append(GROUP, next, self.now, &mut effects);
        self.batches += 1;
        self.heed(effects);
    }

    fn end_plan(&mut self) {
        let mut effects = Vec::new();
        if let Some(lane) = self.running.pop() {
            self.store.step(Event::Ended { lane, result: Ok(Vec::new()) }, self.now, &mut effects);
        }
        self.heed(effects);
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
    while stream.running.is_empty() {
        stream.append();
    }
    let enough = stream.batches;
    for _ in 0..10 * enough {
        stream.append();
        stream.end_plan();
    }
    let most = 2 * stream.batches / enough;
    assert!(
        stream.begun as u64 <= most,
        "{} plans for {} batches, {enough} each",
        stream.begun,
        stream.batches
    );
}

#[test]
fn what_was_asked_for_is_written_however_little_it_is() {
    let mut stream = Stream::new();
    stream.append();
    let mut effects = Vec::new();
    stream.store.flush(GROUP, &mut effects);
    stream.heed(effects);
    stream.append();
    stream.end_plan();
    assert_eq!((stream.begun, stream.store.synced(GROUP)), (1, 1), "the second batch was not asked for");
    stream.now = stream.store.next_deadline().expect("it has a time of its own");
    let mut effects = Vec::new();
    stream.store.step(Event::Due, stream.now + Duration::from_nanos(1), &mut effects);
    stream.heed(effects);
    stream.end_plan();
    assert_eq!((stream.begun, stream.store.synced(GROUP)), (2, u64::MAX));
}
