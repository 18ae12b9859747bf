//! One replica's group becomes another's, and the power goes at any operation.

use std::time::Duration;

use ng_storage::home::Home;
use ng_storage::metadata_state::MetadataState;
use ng_storage::store::{Effect, ExportPlan, ExportedFile, ReceivedSegment};

use crate::expected::{Log, Said, check};
use crate::mortal::Mortal;
use crate::rig::{LIMITS, Rig, batch};

fn grow(rig: &mut Rig<Mortal>, log: &mut Log, group: u64, count: u64, size: usize) {
    for _ in 0..count {
        let batch = batch(log.head() + 1, log.generation(), log.next_offset(), &vec![5; size]);
        log.said.push(Said::Batch(batch.clone()));
        rig.append(group, batch);
    }
    assert!(rig.settle_all([group].into_iter()));
}

/// Bytes that are read and written at a time; a batch may lie in two pieces.
const PIECE: usize = 8192;

/// A replica with some segments of a group, and the plan to read them.
fn source() -> (Rig<Mortal>, Log, ExportPlan) {
    let environment = Mortal::new(77);
    let mut rig = Rig::new(&environment, Home::new("data"), 1);
    let mut log = Log::default();
    grow(&mut rig, &mut log, 7, 14, 3_000);
    let plan = rig.store.export(7).expect("all of it is on the disk");
    assert!(plan.files.len() >= 3, "{plan:?}");
    (rig, log, plan)
}

fn until(rig: &mut Rig<Mortal>, wanted: impl Fn(&Effect) -> bool) -> bool {
    for _ in 0..400 {
        if rig.said.iter().any(&wanted) {
            rig.said.clear();
            return true;
        }
        rig.work(Duration::from_millis(5));
    }
    false
}

/// A piece of a segment of the source, as much of it as counts.
fn piece(source: &mut Rig<Mortal>, file: &ExportedFile, offset: u64) -> Vec<u8> {
    source.act(|store, effects| store.read(7, file.entry, offset, PIECE, effects));
    loop {
        for effect in std::mem::take(&mut source.said) {
            if let Effect::Read { bytes, .. } = effect {
                let bytes = bytes.expect("the source is there");
                let rest = usize::try_from(file.bytes - offset).expect("a short file");
                return bytes[..rest.min(PIECE)].to_vec();
            }
        }
        source.work(Duration::from_millis(5));
    }
}

/// All pieces of a segment.
fn pieces(source: &mut Rig<Mortal>, file: &ExportedFile) -> Vec<Vec<u8>> {
    (0..file.bytes).step_by(PIECE).map(|offset| piece(source, file, offset)).collect()
}

fn receiver(file: &ExportedFile) -> ReceivedSegment {
    let batches = if file.entry.is_sealed() { file.entry.bytes } else { file.bytes };
    ReceivedSegment::new(7, file.entry, batches, LIMITS.batch_bytes_max)
}

/// Brings the pieces of all segments; false if the power goes on the way.
fn import(rig: &mut Rig<Mortal>, source: &mut Rig<Mortal>, files: &[ExportedFile]) -> bool {
    for file in files {
        let mut received = receiver(file);
        for (offset, piece) in (0..).step_by(PIECE).zip(pieces(source, file)) {
            received.feed(&piece).expect("whole batches");
            rig.act(|store, effects| store.import(7, file.entry, offset, &piece, effects));
            if !until(rig, |effect| matches!(effect, Effect::Imported { group: 7 })) {
                return false;
            }
        }
        let last = received.finish().expect("the segment that the list names");
        assert!(!file.entry.is_sealed() || last == file.entry.last_offset);
    }
    true
}

/// Brings all pieces and installs them; false if the power goes on the way.
fn transfer(rig: &mut Rig<Mortal>, source: &mut Rig<Mortal>, plan: &ExportPlan, op: u64) -> bool {
    if !import(rig, source, &plan.files) {
        return false;
    }
    rig.act(|store, effects| store.install(7, plan.generation, op, 0, effects));
    until(rig, |effect| matches!(effect, Effect::Installed { group: 7 }))
}

#[test]
fn a_transferred_group_is_the_same_and_goes_on() {
    let (mut source, mut log, plan) = source();
    let environment = Mortal::new(1);
    let mut rig = Rig::new(&environment, Home::new("data"), 1);
    grow(&mut rig, &mut Log::default(), 7, 3, 500);
    assert!(transfer(&mut rig, &mut source, &plan, log.head()));
    assert!(rig.settle(7));
    check(&environment.machine, &rig.home, 7, &log, "after the transfer");
    grow(&mut rig, &mut log, 7, 6, 2_500);
    check(&environment.machine, &rig.home, 7, &log, "after more");
}

#[test]
fn a_transfer_cut_short_leaves_the_old_or_the_new_state() {
    let (mut source, new, plan) = source();
    let mut cut = 0;
    loop {
        cut += 1;
        let environment = Mortal::new(cut);
        let home = Home::new("data");
        let mut rig = Rig::new(&environment, home.clone(), 1);
        let mut old = Log::default();
        grow(&mut rig, &mut old, 7, 3, 500);
        environment.cut_after(cut);
        let done = transfer(&mut rig, &mut source, &plan, new.head());
        let died = environment.restart();
        let mut rig = Rig::new(&environment, home.clone(), 2);
        rig.open(7, None);
        while rig.opened.is_empty() {
            assert!(rig.damaged.is_empty(), "cut {cut}: {:?}", rig.damaged);
            rig.work(Duration::from_millis(5));
        }
        let is_new = rig.opened[&7].last_offset == plan.last_offset;
        assert!(is_new || !done, "cut {cut}: installed, and not there");
        let log = if is_new { &new } else { &old };
        check(&environment.machine, &home, 7, log, &format!("cut {cut}"));
        assert!(transfer(&mut rig, &mut source, &plan, new.head()), "cut {cut}: a second attempt succeeds");
        check(&environment.machine, &home, 7, &new, &format!("cut {cut}, second attempt"));
        if !died {
            break;
        }
    }
    assert!(cut > 20, "a transfer has many operations: {cut}");
}

#[test]
fn a_transfer_that_is_given_up_leaves_nothing_behind() {
    let (mut source, new, plan) = source();
    let environment = Mortal::new(3);
    let home = Home::new("data");
    let mut rig = Rig::new(&environment, home.clone(), 1);
    let mut old = Log::default();
    grow(&mut rig, &mut old, 7, 3, 500);
    assert!(import(&mut rig, &mut source, &plan.files[..2]));
    let first = plan.files[0].entry;
    rig.act(|store, effects| store.import(7, first, 0, &[9; PIECE], effects));
    rig.act(|store, effects| store.give_up_import(7, effects));
    while rig.work(Duration::from_millis(5)) {}
    let incoming = home.group(7).incoming();
    assert!(environment.machine.file_names().iter().all(|name| !name.starts_with(&incoming)));
    check(&environment.machine, &home, 7, &old, "given up");
    rig.said.clear();
    let rest = ExportPlan { files: plan.files[2..].to_vec(), ..plan.clone() };
    assert!(transfer(&mut rig, &mut source, &rest, new.head()));
    assert!(rig.settle(7));
    let held = rig.store.held(7).expect("the group is open");
    assert_eq!(held.first_offset, Some(plan.files[2].entry.base_offset), "none of what was given up");
}

#[test]
fn what_is_exported_stays_readable_while_the_group_grows() {
    let (mut source, mut log, plan) = source();
    grow(&mut source, &mut log, 7, 9, 3_000);
    let environment = Mortal::new(4);
    let mut rig = Rig::new(&environment, Home::new("data"), 1);
    assert!(transfer(&mut rig, &mut source, &plan, 14));
    assert!(rig.settle(7));
    let then = Log { said: log.said[..14].to_vec() };
    check(&environment.machine, &rig.home, 7, &then, "as of the export");
}

#[test]
fn a_changed_byte_of_a_segment_is_noticed() {
    let (mut source, _, plan) = source();
    let mut refused = 0;
    for file in &plan.files {
        let whole: Vec<u8> = pieces(&mut source, file).concat();
        for position in (0..whole.len()).step_by(97) {
            let mut bytes = whole.clone();
            bytes[position] ^= 0x10;
            let mut received = receiver(file);
            let fed = bytes.chunks(PIECE).try_for_each(|piece| received.feed(piece));
            assert!(fed.is_err() || received.finish().is_err(), "{:?}: byte {position}", file.entry);
            refused += 1;
        }
        let batches = if file.entry.is_sealed() { file.entry.bytes } else { file.bytes };
        let mut short = receiver(file);
        let fed = short.feed(&whole[..usize::try_from(batches).expect("a short file") - 1]);
        assert!(fed.is_err() || short.finish().is_err(), "{:?}: a byte is missing", file.entry);
    }
    assert!(refused > 300, "every part of a segment: {refused}");
}

#[test]
fn an_empty_state_takes_the_place_of_a_damaged_one() {
    let environment = Mortal::new(9);
    let home = Home::new("data");
    let mut rig = Rig::new(&environment, home.clone(), 1);
    grow(&mut rig, &mut Log::default(), 7, 3, 500);
    environment.machine.rot(&home.group(7).segments(), 90, 1);
    environment.restart();
    let mut rig = Rig::new(&environment, home.clone(), 2);
    rig.open(7, None);
    while rig.damaged.is_empty() {
        rig.work(Duration::from_millis(5));
    }
    rig.damaged.clear();
    rig.act(|store, effects| store.install(7, 4, 9, 0, effects));
    assert!(until(&mut rig, |effect| matches!(effect, Effect::Installed { group: 7 })));
    assert!(rig.settle(7));
    let mut log = Log { said: vec![Said::Purge { generation: 4 }; 9] };
    grow(&mut rig, &mut log, 7, 2, 100);
    check(&environment.machine, &home, 7, &log, "after the damage");
}

#[test]
fn a_state_of_the_metadata_is_written_whole_or_not_at_all() {
    let group = ng_storage::home::METADATA_GROUP;
    let state = |op: u64| MetadataState {
        group,
        op,
        chain: 77,
        clients: vec![1; 700],
        machine: vec![u8::try_from(op).expect("small"); 9_000],
    };
    for cut in 1..40 {
        let environment = Mortal::new(cut);
        let home = Home::new("data");
        let mut rig = Rig::new(&environment, home.clone(), 1);
        environment.cut_after(cut);
        let mut written = 0;
        for op in 1..4 {
            rig.act(|store, effects| store.write_state(&state(op), effects));
            if until(&mut rig, |effect| matches!(effect, Effect::StateWritten { .. })) {
                written = op;
            }
        }
        environment.restart();
        for op in 1..4 {
            match environment.machine.file_bytes(&home.group(group).state(op)) {
                Some(bytes) => assert_eq!(MetadataState::decode(&bytes), Ok(state(op)), "cut {cut}"),
                None => assert!(op > written, "cut {cut}: {op} is gone, {written} were there"),
            }
        }
    }
}
