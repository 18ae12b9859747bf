//! Reading batches back: in groups with gaps, beside the writes, and while files go.

use std::time::Duration;

use ng_io::SimulatedEnvironment;
use ng_io::simulated::Random;
use ng_storage::home::Home;
use ng_storage::store::{CommittedBatch, Effect, Fetch, Fetched, FoundBatches, LastBegin, Sought};
use ng_wire::batch::{BatchBuilder, BatchHeader, stamp, verify};

use crate::rig::{Rig, batch};

const GROUP: u64 = 7;

fn fetch(sought: Sought) -> Fetch {
    Fetch { asker: 1, generation: 0, sought, until: u64::MAX - 1, bytes: 1, batch_bytes: 64 * 1024 }
}

fn ask(rig: &mut Rig<SimulatedEnvironment>, fetch: Fetch) -> Fetched {
    rig.act(|store, effects| store.fetch(GROUP, fetch, effects));
    answer(rig)
}

fn answer(rig: &mut Rig<SimulatedEnvironment>) -> Fetched {
    for _ in 0..1_000 {
        if let Some(at) = rig.said.iter().position(|effect| matches!(effect, Effect::Fetched { .. }))
            && let Effect::Fetched { fetched, .. } = rig.said.swap_remove(at)
        {
            return fetched;
        }
        rig.work(Duration::from_millis(5));
    }
    panic!("a fetch is never answered");
}

fn base_offset(found: &FoundBatches) -> u64 {
    let first = found.batches.first().expect("one batch at least");
    BatchHeader::decode(&found.buffer[first.clone()]).expect("a header").base_offset
}

/// A batch of messages that have every second offset.
fn gapped(op: u64, offset: u64, count: u32) -> CommittedBatch {
    let size = 500;
    let one = |batch: BatchBuilder, id: u32| batch.message(id.into(), 0, &vec![1; size], b"");
    let mut bytes = (0..count).fold(BatchBuilder::new(1), one).finish();
    for number in 0..count as usize {
        let at = 256 + number * (48 + size);
        let delta = u32::try_from(2 * number).expect("small");
        bytes[at + 24..at + 28].copy_from_slice(&delta.to_le_bytes());
        let checksum = ng_wire::checksum::xxh3_64(&bytes[at + 8..at + 48 + size]);
        bytes[at..at + 8].copy_from_slice(&checksum.to_le_bytes());
    }
    stamp(&mut bytes, 0, offset, 1_000_000 + op).expect("a batch that was just built");
    let last_offset = verify(&bytes).expect("a good batch").last_offset;
    let (messages, timestamp) = (count, 1_000_000 + op);
    let bytes = std::sync::Arc::new(bytes.into());
    CommittedBatch { op, generation: 0, base_offset: offset, last_offset, timestamp, messages, bytes }
}

fn rig(seed: u64) -> Rig<SimulatedEnvironment> {
    let mut rig = Rig::new(&SimulatedEnvironment::new(seed), Home::new("data"), 1);
    rig.open(GROUP, None);
    assert!(rig.settle(GROUP));
    rig
}

/// Every offset of the group, ascending.
fn grow(rig: &mut Rig<SimulatedEnvironment>, random: &mut Random) -> Vec<u64> {
    let (mut offsets, mut next) = (Vec::new(), 0);
    for op in 1..=60 {
        let dense = random.flip();
        let count = u32::try_from(1 + random.below(8)).expect("small");
        let batch = if dense { batch(op, 0, next, &vec![1; 900]) } else { gapped(op, next, count) };
        offsets.extend(if dense { next..=next } else { next..=batch.last_offset }.step_by(2));
        next = batch.last_offset + 1 + [0, 0, 0, 5][usize::try_from(random.below(4)).expect("small")];
        rig.append(GROUP, batch);
        if random.below(5) == 0 {
            rig.work(Duration::from_micros(random.below(2_000)));
        }
    }
    offsets
}

/// The offset that the last so many messages begin with, however it is found.
fn last_begin(rig: &mut Rig<SimulatedEnvironment>, until: u64, count: u32) -> u64 {
    match rig.store.last_begin(GROUP, until, count) {
        LastBegin::At(offset) => offset,
        LastBegin::Unsettled => panic!("everything was executed"),
        LastBegin::Behind { segment, generation, messages } => {
            let fetched = ask(rig, fetch(Sought::Behind { segment, generation, messages }));
            let Fetched::Batches(found) = fetched else { panic!("{fetched:?}") };
            let bytes = &found.buffer[found.batches[0].clone()];
            let header = BatchHeader::decode(bytes).expect("a header");
            let skipped = usize::try_from(messages - found.passed).expect("small");
            let message = ng_wire::batch::Messages::new(&bytes[256..], header.count).nth(skipped);
            let message = message.expect("it is in this batch").expect("a good batch");
            header.base_offset + u64::from(message.offset_delta)
        }
    }
}

#[test]
fn the_last_messages_are_counted_back_over_gaps() {
    for seed in 0..30 {
        let (mut rig, mut random) = (rig(seed), Random::new(!seed));
        let offsets = grow(&mut rig, &mut random);
        for settled in [false, true] {
            if settled {
                assert!(rig.settle_all([GROUP].into_iter()));
            }
            let until = *offsets.last().expect("messages");
            for count in 1..=offsets.len() + 2 {
                let expected = offsets[offsets.len().saturating_sub(count)];
                let found = last_begin(&mut rig, until, u32::try_from(count).expect("small"));
                assert_eq!(found, expected, "seed {seed}: the last {count} of {}", offsets.len());
            }
        }
    }
}

#[test]
fn an_offset_in_a_gap_is_found_behind_it() {
    for seed in 30..50 {
        let (mut rig, mut random) = (rig(seed), Random::new(!seed));
        let offsets = grow(&mut rig, &mut random);
        assert!(rig.settle_all([GROUP].into_iter()));
        for offset in 0..=*offsets.last().expect("messages") {
            let Fetched::Batches(found) = ask(&mut rig, fetch(Sought::Offset(offset))) else {
                panic!("seed {seed}: {offset}")
            };
            let wanted = offsets[offsets.partition_point(|there| *there < offset)];
            let first = verify(&found.buffer[found.batches[0].clone()]).expect("a good batch");
            let is_it = first.header.base_offset <= wanted && wanted <= first.last_offset;
            assert!(is_it, "seed {seed}: {offset} begins with {}", first.header.base_offset);
        }
        let behind = offsets.last().expect("messages") + 1;
        assert!(matches!(ask(&mut rig, fetch(Sought::Offset(behind))), Fetched::Nothing));
    }
}

#[test]
fn what_removes_files_waits_for_readers_and_lets_no_other_begin() {
    let mut rig = rig(51);
    for op in 1..=20 {
        rig.append(GROUP, batch(op, 0, op - 1, &[1; 3_000]));
    }
    assert!(rig.settle_all([GROUP].into_iter()));
    let first = Fetch { asker: 1, ..fetch(Sought::Offset(0)) };
    rig.act(|store, effects| store.fetch(GROUP, first, effects));
    rig.act(|store, effects| store.truncate_prefix(GROUP, 0, 15, effects));
    let second = Fetch { asker: 2, ..fetch(Sought::Offset(0)) };
    rig.act(|store, effects| store.fetch(GROUP, second, effects));
    let Fetched::Batches(before) = answer(&mut rig) else { panic!("the file is there while it is read") };
    let Fetched::Batches(after) = answer(&mut rig) else { panic!("the rest is there") };
    assert_eq!(base_offset(&before), 0);
    assert!(base_offset(&after) > 0, "the first segment is gone");
    rig.act(|store, effects| store.purge(GROUP, 1, 21, effects));
    assert!(matches!(ask(&mut rig, fetch(Sought::Offset(19))), Fetched::Purged));
    let anew = Fetch { generation: 1, ..fetch(Sought::Offset(0)) };
    assert!(matches!(ask(&mut rig, anew), Fetched::Nothing));
    rig.act(|store, effects| store.fetch(GROUP, anew, effects));
    rig.act(|store, effects| store.remove(GROUP, effects));
    assert!(matches!(answer(&mut rig), Fetched::Gone | Fetched::Nothing));
}

#[test]
fn a_batch_that_is_larger_than_asked_for_is_asked_for_by_its_size() {
    let mut rig = rig(52);
    rig.append(GROUP, batch(1, 0, 0, &[1; 30_000]));
    assert!(rig.settle_all([GROUP].into_iter()));
    let small = Fetch { batch_bytes: 1_000, ..fetch(Sought::Offset(0)) };
    let Fetched::Larger { bytes } = ask(&mut rig, small) else { panic!("it is larger") };
    assert_eq!(bytes, 256 + 48 + 30_000);
    assert!(matches!(ask(&mut rig, Fetch { bytes, ..small }), Fetched::Batches(_)));
}

#[test]
fn compact_batches_are_the_same_in_less_memory() {
    let mut rig = rig(54);
    for op in 1..=20 {
        rig.append(GROUP, batch(op, 0, op - 1, &[1; 3_000]));
    }
    assert!(rig.settle_all([GROUP].into_iter()));
    for until in 0..19 {
        let asked = Fetch { until, ..fetch(Sought::Offset(until)) };
        let Fetched::Batches(mut found) = ask(&mut rig, asked) else { panic!("offset {until}") };
        let (position, length, memory) = (found.position, found.buffer.len(), found.buffer.footprint());
        let whole = found.buffer[found.batches[0].clone()].to_vec();
        let begins = position + found.batches[0].start as u64;
        let Some(rest) = found.compact() else { panic!("{length} bytes were read for {}", whole.len()) };
        assert_eq!(&found.buffer[found.batches[0].clone()], &whole);
        assert_eq!(found.position + found.batches[0].start as u64, begins);
        assert_eq!((rest.len(), rest.footprint()), (length, memory));
        assert!(found.buffer.footprint() * 2 <= memory);
        assert!(found.compact().is_none(), "it is compact");
    }
}

#[test]
fn many_readers_of_few_descriptors_are_all_answered() {
    let mut rig = rig(53);
    for op in 1..=60 {
        rig.append(GROUP, batch(op, 0, op - 1, &[1; 3_000]));
    }
    assert!(rig.settle_all([GROUP].into_iter()));
    for round in 0..10 {
        for asker in 0..40 {
            let wanted = Fetch { asker, ..fetch(Sought::Offset((asker * 7 + round) % 60)) };
            rig.act(|store, effects| store.fetch(GROUP, wanted, effects));
        }
        for _ in 0..40 {
            assert!(matches!(answer(&mut rig), Fetched::Batches(_)));
        }
    }
}
