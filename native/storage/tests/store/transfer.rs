//! What one replica's group lacks comes from another's, and the power goes at any operation.

use std::time::Duration;

use ng_storage::PAGE;
use ng_storage::home::Home;
use ng_storage::metadata_state::MetadataState;
use ng_storage::store::{CommittedBatch, Effect, ExportPlan, ExportedFile, ReceivedBatches, Whole};

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

/// Bytes that are read at a time; a batch may lie in two pieces.
const PIECE: usize = 2 * PAGE;

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

/// A replica that has only the first of these batches.
fn receiver(environment: &Mortal, log: &Log, count: usize) -> Rig<Mortal> {
    let mut rig = Rig::new(environment, Home::new("data"), 1);
    for said in &log.said[..count] {
        if let Said::Batch(batch) = said {
            rig.append(7, batch.clone());
        }
    }
    assert!(rig.settle_all([7].into_iter()));
    rig
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

/// All batches that the plan names, as one stream.
fn stream(source: &mut Rig<Mortal>, plan: &ExportPlan) -> Vec<u8> {
    let mut bytes = Vec::new();
    for file in &plan.files {
        for offset in (0..file.bytes).step_by(PIECE) {
            bytes.extend(piece(source, file, offset));
        }
    }
    bytes
}

/// Where the batch that begins with an offset stands in the stream of a log that was never purged.
fn position(log: &Log, offset: u64) -> usize {
    let batches = log.said.iter().filter_map(|said| match said {
        Said::Batch(batch) if batch.base_offset < offset => Some(batch.bytes.len()),
        _ => None,
    });
    batches.sum()
}

fn received(stream: &[u8], first: u64, piece: usize) -> Result<Vec<CommittedBatch>, String> {
    received_of(stream, &whole(first, 13), piece)
}

/// Batches of a generation without gaps and truncations.
fn whole(first: u64, last: u64) -> Whole {
    Whole { first, kept_from: 0, last_offset: Some(last), gaps: Vec::new() }
}

fn received_of(stream: &[u8], whole: &Whole, piece: usize) -> Result<Vec<CommittedBatch>, String> {
    let (first, bytes) = (whole.first, stream.len() as u64);
    let mut received = ReceivedBatches::new(0, whole.clone(), bytes, LIMITS.batch_bytes_max);
    let mut batches = Vec::new();
    for piece in stream.chunks(piece) {
        batches.extend(received.feed(piece, first + 1).map_err(|refusal| refusal.to_string())?);
    }
    if received.is_whole() { Ok(batches) } else { Err("a batch is not whole".to_owned()) }
}

/// Appends what a stream brings; false if the power goes on the way.
fn take(rig: &mut Rig<Mortal>, stream: &[u8], first: u64) -> bool {
    for batch in received(stream, first, PIECE).expect("whole batches") {
        rig.append(7, batch);
    }
    rig.settle_all([7].into_iter())
}

#[test]
fn what_was_lacking_makes_the_group_the_same_and_it_goes_on() {
    let (mut source, log, plan) = source();
    let stream = stream(&mut source, &plan);
    for has in 0..14 {
        let environment = Mortal::new(1);
        let mut rig = receiver(&environment, &log, has);
        let first = has as u64;
        assert!(!rig.store.holds(7, 0, plan.last_offset));
        assert!(take(&mut rig, &stream[position(&log, first)..], first));
        assert!(rig.store.holds(7, 0, plan.last_offset));
        check(&environment.machine, &rig.home, 7, &log, "after the transfer");
        grow(&mut rig, &mut log.clone(), 7, 6, 2_500);
    }
}

#[test]
fn a_batch_that_comes_from_another_replica_and_from_the_log_is_there_once() {
    let (mut source, log, plan) = source();
    let stream = stream(&mut source, &plan);
    let environment = Mortal::new(2);
    let mut rig = receiver(&environment, &log, 5);
    for batch in received(&stream[position(&log, 5)..], 5, PIECE).expect("whole batches") {
        rig.append(7, batch);
    }
    for said in &log.said[5..] {
        if let Said::Batch(batch) = said {
            rig.append(7, batch.clone());
        }
    }
    assert!(rig.settle_all([7].into_iter()));
    check(&environment.machine, &rig.home, 7, &log, "each of them twice");
}

#[test]
fn a_transfer_cut_short_leaves_what_had_come_and_the_rest_can_follow() {
    let (mut source, log, plan) = source();
    let stream = stream(&mut source, &plan);
    let mut cut = 0;
    loop {
        cut += 1;
        let environment = Mortal::new(cut);
        let mut rig = receiver(&environment, &log, 3);
        environment.cut_after(cut);
        let done = take(&mut rig, &stream[position(&log, 3)..], 3);
        let died = environment.restart();
        let mut rig = Rig::new(&environment, Home::new("data"), 2);
        rig.open(7, None);
        while rig.opened.is_empty() {
            assert!(rig.damaged.is_empty(), "cut {cut}: {:?}", rig.damaged);
            rig.work(Duration::from_millis(5));
        }
        let last = rig.opened[&7].last_offset.expect("what was there before");
        assert!(last >= 2 && (!done || Some(last) == plan.last_offset), "cut {cut}: {last}");
        assert!(take(&mut rig, &stream[position(&log, last + 1)..], last + 1), "cut {cut}");
        check(&environment.machine, &rig.home, 7, &log, &format!("cut {cut}, the rest"));
        if !died {
            break;
        }
    }
    assert!(cut > 20, "a transfer has many operations: {cut}");
}

#[test]
fn what_is_exported_stays_readable_while_the_group_grows() {
    let (mut source, mut log, plan) = source();
    grow(&mut source, &mut log, 7, 9, 3_000);
    let stream = stream(&mut source, &plan);
    let environment = Mortal::new(4);
    let mut rig = receiver(&environment, &log, 0);
    assert!(take(&mut rig, &stream, 0));
    let then = Log { said: log.said[..14].to_vec() };
    check(&environment.machine, &rig.home, 7, &then, "as of the export");
}

#[test]
fn batches_may_be_cut_anywhere_and_no_change_to_them_passes() {
    let (mut source, _, plan) = source();
    let stream = stream(&mut source, &plan);
    for piece in [1, 7, 255, 257, 4096, 1 << 20] {
        assert_eq!(received(&stream, 0, piece).map(|batches| batches.len()), Ok(14), "pieces of {piece}");
    }
    for position in (0..stream.len()).step_by(97) {
        let mut bytes = stream.clone();
        bytes[position] ^= 0x10;
        received(&bytes, 0, PIECE).expect_err(&format!("byte {position}"));
    }
    received(&stream[..stream.len() - 1], 0, PIECE).expect_err("a byte is missing");
    received(&[&stream[..], &[0]].concat(), 0, PIECE).expect_err("there is one more");
    received(&[&stream[..], &stream[..]].concat(), 0, PIECE).expect_err("offsets go back");
    received(&stream, 1, PIECE).expect_err("it begins with what is here already");
    let mut more = ReceivedBatches::new(0, whole(0, 13), stream.len() as u64 - 1, LIMITS.batch_bytes_max);
    more.feed(&stream, 1).expect_err("more than was announced");
}

#[test]
fn a_source_that_leaves_out_a_batch_or_a_segment_is_refused() {
    let (mut source, log, plan) = source();
    let all = stream(&mut source, &plan);
    let at = |offset: u64| if offset == 14 { all.len() } else { position(&log, offset) };
    let holes = (0..14).flat_map(|from| (from + 1..=14).map(move |to| (from, to)));
    for (from, to) in holes.filter(|hole| *hole != (0, 14)) {
        let holed = [&all[..at(from)], &all[at(to)..]].concat();
        let refused = received(&holed, 0, PIECE).expect_err("something is missing");
        assert_eq!(refused, format!("batches: offset: {from} is missing"));
        // What was dropped may be missing, and so may what was given to no message.
        let dropped = Whole { kept_from: to, ..whole(0, 13) };
        assert!(received_of(&holed, &dropped, PIECE).is_ok(), "{from} to {to}");
        let passed_over = Whole { gaps: vec![(from, to - 1)], ..whole(0, 13) };
        assert!(received_of(&holed, &passed_over, PIECE).is_ok(), "{from} to {to}");
    }
    for missing in 1..plan.files.len() {
        let mut fewer = plan.clone();
        fewer.files.remove(missing);
        let holed = stream(&mut source, &fewer);
        received(&holed, 0, PIECE).expect_err("a segment is missing");
    }
}

#[test]
fn what_was_purged_elsewhere_gives_way_to_what_came_since() {
    let environment = Mortal::new(9);
    let mut log = Log::default();
    let mut rig = Rig::new(&environment, Home::new("data"), 1);
    grow(&mut rig, &mut log, 7, 5, 500);
    rig.act(|store, effects| store.purge(7, 4, 6, effects));
    assert!(!rig.store.holds(7, 4, None), "not before it is on the disk");
    log.said.push(Said::Purge { generation: 4 });
    grow(&mut rig, &mut log, 7, 3, 100);
    assert!(rig.store.holds(7, 4, Some(2)) && !rig.store.holds(7, 0, None));
    check(&environment.machine, &rig.home, 7, &log, "after the purge");
}

#[test]
fn what_was_truncated_elsewhere_goes_and_its_offsets_are_given_to_nothing_else() {
    let environment = Mortal::new(10);
    let mut log = Log::default();
    let mut rig = Rig::new(&environment, Home::new("data"), 1);
    grow(&mut rig, &mut log, 7, 5, 500);
    rig.act(|store, effects| store.empty(7, 0, 3, 6, effects));
    assert!(rig.settle(7));
    assert_eq!(rig.store.held(7).map(|held| held.segments), Some(1), "it has more than those");
    rig.act(|store, effects| store.empty(7, 0, 9, 6, effects));
    assert!(!rig.store.holds(7, 0, Some(8)), "not before it is on the disk");
    assert!(rig.settle(7));
    for _ in 0..2 {
        assert!(rig.store.holds(7, 0, Some(8)) && rig.store.lacks_from(7) == 9);
        assert_eq!(rig.store.held(7).map(|held| (held.segments, held.bytes)), Some((0, 0)));
        environment.restart();
        rig = Rig::new(&environment, Home::new("data"), 2);
        rig.open(7, None);
        while rig.opened.is_empty() {
            rig.work(Duration::from_millis(5));
        }
    }
    rig.append(7, batch(7, 0, 9, b"what comes next"));
    assert!(rig.settle_all([7].into_iter()));
    assert!(rig.store.holds(7, 0, Some(9)));
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
