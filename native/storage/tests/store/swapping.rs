//! Compacted segments take the place of others: what counts, what lies there, and the power goes at each operation.

use std::path::PathBuf;

use ng_io::{Environment, SimulatedEnvironment};
use ng_storage::home::Home;
use ng_storage::segments_file::SegmentEntry;
use ng_storage::store::{Effect, NotStaged, Staging, SwapOrder, Vouched};

use crate::compaction::{compact, entry_of, list, segments_there};
use crate::expected::read;
use crate::mortal::Mortal;
use crate::rig::{Rig, batch};

const GROUP: u64 = 7;
const BATCHES: u64 = 30;

fn home() -> Home {
    Home::new("data")
}

fn lease() -> PathBuf {
    PathBuf::from("data/leases/1/outputs/0")
}

/// Every third message survives.
const fn keeps(offset: u64) -> bool {
    offset % 3 == 1
}

fn start(environment: &Mortal, life: u64, vouched: Option<Vouched>) -> Rig<Mortal> {
    let mut rig = Rig::new(environment, home(), life);
    rig.open(GROUP, vouched);
    rig
}

/// Applies batches of one message each with 2,500 bytes: five in a segment.
fn grow(rig: &mut Rig<Mortal>, offsets: std::ops::Range<u64>) {
    offsets.for_each(|offset| rig.append(GROUP, batch(offset + 1, 0, offset, &[6; 2_500])));
}

fn sealed(environment: &SimulatedEnvironment) -> Vec<SegmentEntry> {
    list(environment, &home(), GROUP).segments.into_iter().filter(SegmentEntry::is_sealed).collect()
}

/// A group with sealed segments, and what a job made of all but the first of them.
fn compacted(environment: &Mortal) -> (Rig<Mortal>, Staging) {
    let mut rig = start(environment, 1, None);
    grow(&mut rig, 0..BATCHES);
    assert!(rig.settle_all([GROUP].into_iter()));
    let staging = job(environment);
    (rig, staging)
}

fn job(environment: &Mortal) -> Staging {
    let sealed = sealed(&environment.machine);
    let runs = [&sealed[1..2], &sealed[2..]];
    compact(&environment.machine, (&home(), GROUP), &runs, &lease(), keeps)
}

fn stage(rig: &mut Rig<Mortal>, staging: &Staging) -> Result<(), NotStaged> {
    rig.act(|store, effects| store.stage(GROUP, staging.clone(), effects));
    for _ in 0..2_000 {
        if let Some(at) = rig.said.iter().position(|effect| matches!(effect, Effect::Staged { .. }))
            && let Effect::Staged { result, .. } = rig.said.swap_remove(at)
        {
            return result;
        }
        rig.work(std::time::Duration::from_millis(1));
        if rig.is_dead() {
            return Err(NotStaged::Busy);
        }
    }
    panic!("nobody says whether it is staged");
}

fn swap(rig: &mut Rig<Mortal>, op: u64, order: &SwapOrder) {
    rig.act(|store, effects| store.swap(GROUP, op, order.clone(), effects));
}

fn offsets(environment: &SimulatedEnvironment) -> Vec<u64> {
    let base = |bytes: &Vec<u8>| u64::from_le_bytes(*bytes[8..].first_chunk().expect("a header"));
    read(environment, &home(), GROUP).iter().map(base).collect()
}

/// The offsets that are left, up to `end`, with those behind the sealed segments whole.
fn left(first_sealed: &SegmentEntry, behind: u64, end: u64) -> Vec<u64> {
    (0..end)
        .filter(|offset| *offset <= first_sealed.last_offset || *offset >= behind || keeps(*offset))
        .collect()
}

fn behind(order: &SwapOrder) -> u64 {
    order.inputs.last().map_or(0, |input| input.last_offset + 1)
}

#[test]
fn what_is_swapped_counts_and_nothing_else_is_left() {
    let environment = Mortal::new(1);
    let (mut rig, staging) = compacted(&environment);
    let before = sealed(&environment.machine);
    assert_eq!(stage(&mut rig, &staging), Ok(()));
    let staged = list(&environment.machine, &home(), GROUP);
    assert_eq!(staged.loose, staging.order.outputs.iter().map(entry_of).collect::<Vec<_>>());
    assert_eq!(offsets(&environment.machine), (0..BATCHES).collect::<Vec<_>>(), "they do not count yet");
    swap(&mut rig, BATCHES + 1, &staging.order);
    let range = (before[1].base_offset, behind(&staging.order) - 1);
    rig.hear(
        "it is swapped",
        |effect| matches!(effect, Effect::Swapped { replaced, .. } if *replaced == Some(range)),
    );
    assert!(rig.settle(GROUP));
    let after = list(&environment.machine, &home(), GROUP);
    assert_eq!((after.loose.len(), after.segments.len()), (0, 1 + 2 + 1), "{after:?}");
    assert_eq!(offsets(&environment.machine), left(&before[0], behind(&staging.order), BATCHES));
    let names: Vec<PathBuf> = after.segments.iter().map(|entry| home().group(GROUP).segment(entry)).collect();
    assert_eq!(segments_there(&environment.machine, &home(), GROUP), names);
    assert_eq!(rig.synced.get(&GROUP), Some(&(BATCHES + 1)));
    let figures = rig.store.figures(GROUP).expect("it is open");
    assert_eq!(figures.messages, offsets(&environment.machine).len() as u64);
    assert_eq!(rig.store.held(GROUP).and_then(|held| held.last_offset), Some(BATCHES - 1));
}

#[test]
fn a_swap_whose_inputs_are_not_there_is_fenced() {
    let environment = Mortal::new(2);
    let (mut rig, staging) = compacted(&environment);
    let names = segments_there(&environment.machine, &home(), GROUP);
    let other = |change: &dyn Fn(&mut SwapOrder)| {
        let mut staging = staging.clone();
        change(&mut staging.order);
        staging
    };
    let wrong = [
        other(&|order| order.generation = 1),
        other(&|order| order.inputs[0].generation = 1),
        other(&|order| order.inputs[1].footer ^= 1),
        other(&|order| order.inputs[0].base_offset += 1),
        other(&|order| order.inputs.swap(0, 1)),
    ];
    for staging in wrong {
        assert_eq!(stage(&mut rig, &staging), Err(NotStaged::Fenced), "{staging:?}");
    }
    assert_eq!(stage(&mut rig, &staging), Ok(()));
    assert_eq!(stage(&mut rig, &staging), Err(NotStaged::Busy), "another one is under way");
    rig.act(|store, effects| store.sweep(GROUP, effects));
    assert!(rig.settle(GROUP));
    assert_eq!(segments_there(&environment.machine, &home(), GROUP), names, "it was given up");
    rig.act(|store, effects| store.truncate_prefix(GROUP, 0, 12, effects));
    assert_eq!(stage(&mut rig, &staging), Err(NotStaged::Fenced), "messages of it were truncated");
    rig.act(|store, effects| store.purge(GROUP, 1, BATCHES + 1, effects));
    assert_eq!(stage(&mut rig, &staging), Err(NotStaged::Fenced), "it was purged");
    assert!(segments_there(&environment.machine, &home(), GROUP).is_empty());
}

#[test]
fn a_file_that_is_not_there_is_told_and_leaves_nothing_behind() {
    let environment = Mortal::new(3);
    let (mut rig, staging) = compacted(&environment);
    let names = segments_there(&environment.machine, &home(), GROUP);
    environment.remove_file(&lease().join(entry_of(&staging.order.outputs[1]).file_name())).expect("a file");
    let Err(NotStaged::Unlinked(fault)) = stage(&mut rig, &staging) else { panic!("one is missing") };
    assert_eq!(fault.path, home().group(GROUP).segment(&entry_of(&staging.order.outputs[1])));
    assert!(rig.settle(GROUP) && rig.fault.is_none());
    assert_eq!(segments_there(&environment.machine, &home(), GROUP), names);
    assert!(!rig.store.has_loose(GROUP));
    grow(&mut rig, BATCHES..BATCHES + 5);
    assert!(rig.settle_all([GROUP].into_iter()));
    assert_eq!(offsets(&environment.machine), (0..BATCHES + 5).collect::<Vec<_>>());
}

/// The list may name the files before anything goes wrong: it is the one in force, whatever the last step came to.
#[test]
fn files_whose_names_could_not_be_synced_are_not_forgotten() {
    let environment = Mortal::new(7);
    let (mut rig, staging) = compacted(&environment);
    rig.lacks_a_descriptor = true;
    assert_eq!(stage(&mut rig, &staging), Err(NotStaged::Busy));
    grow(&mut rig, BATCHES..BATCHES + 10);
    assert!(rig.settle_all([GROUP].into_iter()) && rig.fault.is_none());
    let after = list(&environment.machine, &home(), GROUP);
    let names: Vec<PathBuf> = after.segments.iter().map(|entry| home().group(GROUP).segment(entry)).collect();
    assert_eq!(segments_there(&environment.machine, &home(), GROUP), names);
    assert!(after.loose.is_empty() && !rig.store.has_loose(GROUP));
    assert_eq!(offsets(&environment.machine), (0..BATCHES + 10).collect::<Vec<_>>());
    assert_eq!(stage(&mut rig, &staging), Ok(()), "another time");
}

/// What was staged has gone, and the log says all the same that it takes the place of segments: those stay.
#[test]
fn nothing_takes_the_place_of_segments_that_is_not_there() {
    let environment = Mortal::new(8);
    let (mut rig, staging) = compacted(&environment);
    let before = list(&environment.machine, &home(), GROUP).segments;
    assert_eq!(stage(&mut rig, &staging), Ok(()));
    rig.act(|store, effects| store.sweep(GROUP, effects));
    assert!(rig.settle(GROUP));
    swap(&mut rig, BATCHES + 1, &staging.order);
    rig.hear("it came to nothing", |effect| matches!(effect, Effect::Swapped { replaced: None, .. }));
    assert!(rig.settle(GROUP) && rig.fault.is_none());
    let after = list(&environment.machine, &home(), GROUP);
    assert_eq!((after.segments, after.loose.len()), (before, 0));
    assert_eq!(offsets(&environment.machine), (0..BATCHES).collect::<Vec<_>>());
    assert_eq!(rig.synced.get(&GROUP), Some(&(BATCHES + 1)), "no start needs to execute it again");
    drop(rig);
    environment.restart();
    let mut rig = recover(&environment, 2, Some(&staging.order), BATCHES + 3);
    assert!(rig.settle_all([GROUP].into_iter()) && rig.damaged.is_empty());
    assert_eq!(offsets(&environment.machine), (0..BATCHES + 3).collect::<Vec<_>>());
    assert_eq!(stage(&mut rig, &staging), Ok(()), "the job may try it again");
    swap(&mut rig, BATCHES + 5, &staging.order);
    assert!(rig.settle(GROUP));
    assert!(offsets(&environment.machine).len() < usize::try_from(BATCHES).expect("few"));
}

#[test]
fn a_group_that_ends_has_nothing_staged() {
    let environment = Mortal::new(4);
    let (mut rig, staging) = compacted(&environment);
    rig.act(|store, effects| store.remove(GROUP, effects));
    assert_eq!(stage(&mut rig, &staging), Err(NotStaged::Gone));
}

#[test]
fn a_purge_takes_what_was_staged_along() {
    let environment = Mortal::new(5);
    let (mut rig, staging) = compacted(&environment);
    assert_eq!(stage(&mut rig, &staging), Ok(()));
    rig.act(|store, effects| store.purge(GROUP, 1, BATCHES + 1, effects));
    assert!(rig.settle(GROUP));
    assert!(segments_there(&environment.machine, &home(), GROUP).is_empty());
    assert!(!rig.store.has_loose(GROUP));
}

/// What a start does: everything that the log says behind what a manifest vouches for, then what is loose goes.
fn recover(environment: &Mortal, life: u64, committed: Option<&SwapOrder>, end: u64) -> Rig<Mortal> {
    let mut rig = start(environment, life, None);
    grow(&mut rig, 0..BATCHES);
    if let Some(order) = committed {
        swap(&mut rig, BATCHES + 1, order);
    }
    grow(&mut rig, BATCHES..end);
    while !rig.opened.contains_key(&GROUP) && !rig.is_dead() {
        rig.work(std::time::Duration::from_millis(1));
        assert!(rig.damaged.is_empty(), "{:?}", rig.damaged);
    }
    if rig.store.has_loose(GROUP) {
        rig.act(|store, effects| store.sweep(GROUP, effects));
    }
    rig
}

/// The power goes at each operation between the first name of a new file and the last of an old one, and then again while
/// that is mended.
#[test]
fn a_cut_at_any_step_leaves_the_old_segments_or_the_new_ones() {
    let (mut old, mut new) = (0, 0);
    for cut in 1..=60_u64 {
        let environment = Mortal::new(cut);
        let (mut rig, staging) = compacted(&environment);
        let before = sealed(&environment.machine);
        environment.cut_after(cut);
        let committed = stage(&mut rig, &staging).is_ok();
        let mut end = BATCHES;
        if committed {
            swap(&mut rig, BATCHES + 1, &staging.order);
            end = BATCHES + 3;
            grow(&mut rig, BATCHES..end);
            rig.settle_all([GROUP].into_iter());
        }
        drop(rig);
        environment.restart();
        let order = committed.then_some(&staging.order);
        environment.cut_after(cut % 23 + 1);
        drop(recover(&environment, 2, order, end));
        environment.restart();
        let mut rig = recover(&environment, 3, order, end);
        assert!(rig.settle_all([GROUP].into_iter()), "nobody cuts the power now");
        assert!(rig.damaged.is_empty() && rig.fault.is_none(), "cut {cut}: {:?}", rig.damaged);
        let expected = match order {
            Some(order) => left(&before[0], behind(order), end),
            None => (0..end).collect(),
        };
        assert_eq!(offsets(&environment.machine), expected, "cut {cut}");
        let after = list(&environment.machine, &home(), GROUP);
        assert!(after.loose.is_empty(), "cut {cut}");
        let names: Vec<PathBuf> =
            after.segments.iter().map(|entry| home().group(GROUP).segment(entry)).collect();
        assert_eq!(segments_there(&environment.machine, &home(), GROUP), names, "cut {cut}");
        if committed { new += 1 } else { old += 1 }
    }
    assert!(old > 5 && new > 20, "{old} before the commit, {new} behind it");
}

/// A disk that is full puts a swap off, and what was staged does not stay.
#[test]
fn a_full_disk_refuses_a_staging_and_puts_off_a_swap() {
    let environment = Mortal::new(6);
    let (mut rig, staging) = compacted(&environment);
    environment.machine.set_capacity(0);
    assert_eq!(stage(&mut rig, &staging), Err(NotStaged::Busy));
    environment.machine.set_capacity(u64::MAX);
    assert!(rig.settle(GROUP));
    assert_eq!(stage(&mut rig, &staging), Ok(()));
    environment.machine.set_capacity(0);
    swap(&mut rig, BATCHES + 1, &staging.order);
    while rig.pressure == 0 {
        rig.work(std::time::Duration::from_millis(5));
    }
    assert_eq!(rig.store.synced(GROUP), BATCHES, "a manifest may not speak of it");
    assert_eq!(offsets(&environment.machine), (0..BATCHES).collect::<Vec<_>>());
    environment.machine.set_capacity(u64::MAX);
    assert!(rig.settle(GROUP));
    assert!(offsets(&environment.machine).len() < usize::try_from(BATCHES).expect("few"));
    assert!(!rig.store.has_loose(GROUP));
}
