//! Segments of a size of their own, sealed before they are full, and dropped from the front, to the last one.

use ng_storage::home::Home;
use ng_storage::store::{Effect, GroupFigures, Span, Vouched};

use crate::expected::{Log, Said, check};
use crate::mortal::Mortal;
use crate::rig::{LIMITS, Rig, batch};

const GROUP: u64 = 7;

fn rig(environment: &Mortal, life: u64) -> Rig<Mortal> {
    Rig::new(environment, Home::new("data"), life)
}

/// Appends so many batches of one message with 1,000 bytes, and has them written.
fn grow(rig: &mut Rig<Mortal>, log: &mut Log, count: u64) {
    for _ in 0..count {
        let batch = batch(log.head() + 1, log.generation(), log.next_offset(), &[7; 1_000]);
        log.said.push(Said::Batch(batch.clone()));
        rig.append(GROUP, batch);
    }
    assert!(rig.settle_all([GROUP].into_iter()));
}

fn truncate(rig: &mut Rig<Mortal>, log: &mut Log, offset: u64) {
    log.said.push(Said::Truncate { generation: log.generation(), offset });
    let generation = log.generation();
    rig.act(|store, effects| store.truncate_prefix(GROUP, generation, offset, effects));
}

fn roll(rig: &mut Rig<Mortal>) {
    rig.act(|store, effects| store.roll(GROUP, effects));
    rig.hear("it is sealed", |effect| matches!(effect, Effect::Sealed { group: GROUP }));
}

fn spans(rig: &Rig<Mortal>) -> Vec<Span> {
    rig.store.spans(GROUP).expect("it is open").collect()
}

/// How many files the group has.
fn files(environment: &Mortal, rig: &Rig<Mortal>) -> usize {
    let directory = rig.home.group(GROUP).directory();
    environment.machine.file_names().iter().filter(|name| name.starts_with(&directory)).count()
}

fn figures(rig: &Rig<Mortal>) -> GroupFigures {
    rig.store.figures(GROUP).expect("it is open")
}

/// What the manifest would say of everything that was said.
fn vouched(log: &Log) -> Vouched {
    let (last_offset, generation) = log.state_at(log.head());
    Vouched::new(log.head(), last_offset, generation)
}

#[test]
fn a_group_has_segments_of_its_own_size() {
    let environment = Mortal::new(1);
    let (mut rig, mut log) = (rig(&environment, 1), Log::default());
    rig.store.set_segment_bytes(GROUP, 4 * 1024);
    grow(&mut rig, &mut log, 9);
    assert!(rig.store.figures(GROUP).is_some_and(|figures| figures.segments == 3), "three batches in each");
    assert!(spans(&rig).iter().all(|span| span.bytes <= 4 * 1024));
    rig.store.set_segment_bytes(GROUP, LIMITS.segment_bytes);
    grow(&mut rig, &mut log, 9);
    let last = spans(&rig).last().copied().expect("there are segments");
    assert!(last.bytes > 4 * 1024 && last.bytes <= LIMITS.segment_bytes && !last.sealed);
    check(&environment.machine, &rig.home, GROUP, &log, "of two sizes");
}

#[test]
fn a_truncation_counts_before_its_files_are_gone() {
    let environment = Mortal::new(2);
    let (mut rig, mut log) = (rig(&environment, 1), Log::default());
    grow(&mut rig, &mut log, 40);
    let (before, spans_before) = (figures(&rig), spans(&rig));
    truncate(&mut rig, &mut log, spans_before[1].last_offset + 1);
    let at_once = figures(&rig);
    assert_eq!(at_once.segments, before.segments - 2);
    assert_eq!(at_once.messages, 40 - (spans_before[1].last_offset + 1));
    assert_eq!(spans(&rig), spans_before[2..]);
    rig.hear("they are gone", |effect| matches!(effect, Effect::Truncated { group: GROUP }));
    assert_eq!(figures(&rig), at_once);
    assert_eq!(
        files(&environment, &rig),
        2 * at_once.segments,
        "a log and an index, SEGMENTS, one index less"
    );
    check(&environment.machine, &rig.home, GROUP, &log, "after it");
    environment.restart();
    let mut rig = self::rig(&environment, 2);
    rig.open(GROUP, Some(vouched(&log)));
    rig.settle(GROUP);
    assert_eq!(figures(&rig), at_once);
}

#[test]
fn the_last_segment_goes_once_it_is_sealed_and_offsets_go_on() {
    let environment = Mortal::new(3);
    let (mut rig, mut log) = (rig(&environment, 1), Log::default());
    grow(&mut rig, &mut log, 3);
    roll(&mut rig);
    assert_eq!(
        spans(&rig).iter().map(|span| (span.last_offset, span.sealed)).collect::<Vec<_>>(),
        [(2, true)]
    );
    truncate(&mut rig, &mut log, 3);
    assert_eq!(figures(&rig), GroupFigures { segments: 1, bytes: 0, messages: 0 });
    rig.hear("it is gone", |effect| matches!(effect, Effect::Truncated { group: GROUP }));
    assert_eq!(files(&environment, &rig), 1, "SEGMENTS alone");
    environment.restart();
    let mut rig = self::rig(&environment, 2);
    // What is applied again was there, and went.
    let said = log.said.clone();
    rig.open(GROUP, Some(Vouched::new(1, 0, 0)));
    for said in &said[1..3] {
        let Said::Batch(batch) = said else { panic!("it begins with batches") };
        rig.append(GROUP, batch.clone());
    }
    assert!(rig.settle(GROUP) && rig.damaged.is_empty(), "{:?}", rig.damaged);
    assert_eq!(figures(&rig), GroupFigures { segments: 1, bytes: 0, messages: 0 });
    assert_eq!(rig.store.held(GROUP).and_then(|held| held.last_offset), Some(2));
    grow(&mut rig, &mut log, 1);
    assert_eq!(spans(&rig).iter().map(|span| span.last_offset).collect::<Vec<_>>(), [3]);
    check(&environment.machine, &rig.home, GROUP, &log, "when it went on");
}

#[test]
fn what_a_truncation_found_unsealed_goes_when_it_is_sealed() {
    let environment = Mortal::new(6);
    let (mut rig, mut log) = (rig(&environment, 1), Log::default());
    grow(&mut rig, &mut log, 3);
    truncate(&mut rig, &mut log, 3);
    assert!(rig.settle(GROUP));
    assert_eq!(figures(&rig).messages, 3, "what is appended to stays");
    roll(&mut rig);
    rig.hear("it is gone", |effect| matches!(effect, Effect::Truncated { group: GROUP }));
    assert_eq!(figures(&rig).messages, 0);
    check(&environment.machine, &rig.home, GROUP, &log, "after it");
}

#[test]
fn a_segment_that_is_missing_is_not_taken_for_one_that_was_dropped() {
    let environment = Mortal::new(4);
    let (mut rig, mut log) = (rig(&environment, 1), Log::default());
    grow(&mut rig, &mut log, 3);
    roll(&mut rig);
    truncate(&mut rig, &mut log, 3);
    assert!(rig.settle(GROUP));
    environment.restart();
    let mut rig = self::rig(&environment, 2);
    rig.open(GROUP, Some(Vouched::new(9, 5, 0)));
    rig.until("it opens", |rig| rig.opened.contains_key(&GROUP));
    let fences: Vec<_> =
        rig.fenced[&GROUP].iter().map(|fence| (fence.first_offset, fence.last_offset)).collect();
    assert_eq!(fences, [(3, 5)], "they were never dropped");
}

#[test]
fn nothing_is_rolled_where_nothing_is_appended_to() {
    let environment = Mortal::new(5);
    let (mut rig, mut log) = (rig(&environment, 1), Log::default());
    rig.act(|store, effects| store.roll(GROUP, effects));
    grow(&mut rig, &mut log, 1);
    roll(&mut rig);
    rig.act(|store, effects| store.roll(GROUP, effects));
    assert!(rig.settle(GROUP));
    assert!(!rig.said.iter().any(|effect| matches!(effect, Effect::Sealed { .. })), "once");
    grow(&mut rig, &mut log, 1);
    assert_eq!(spans(&rig).iter().map(|span| span.sealed).collect::<Vec<_>>(), [true, false]);
}
