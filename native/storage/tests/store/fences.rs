//! Damage of the files of a group on a node without peers: exactly what is lost gets a fence, the rest is served, and the
//! group goes on.

use std::path::{Path, PathBuf};

use ng_io::{Driver, DriverLimits, Environment, Instant, Wait};
use ng_storage::PAGE;
use ng_storage::home::Home;
use ng_storage::store::plan::Step;
use ng_storage::store::shell::PlanShell;
use ng_storage::store::{Effect, Fetch, Fetched, Sought, Vouched};

use crate::expected::{Log, Said};
use crate::mortal::Mortal;
use crate::rig::{Rig, batch};

const GROUP: u64 = 7;

/// Sizes of the messages: two sealed segments, and an unsealed one with four messages.
const SIZES: [usize; 8] = [6_000, 6_000, 6_000, 6_000, 3_800, 300, 3_000, 300];

/// The first offset of the unsealed segment.
const UNSEALED: u64 = 4;

/// A group, and what a manifest says of it.
fn grown(environment: &Mortal) -> (Log, Vouched) {
    let mut rig = Rig::new(environment, Home::new("data"), 1);
    let mut log = Log::default();
    for size in SIZES {
        let batch = batch(log.head() + 1, 0, log.next_offset(), &vec![9; size]);
        log.said.push(Said::Batch(batch.clone()));
        rig.append(GROUP, batch);
    }
    assert!(rig.settle_all([GROUP].into_iter()));
    let (last_offset, generation) = log.state_at(log.head());
    let (list_sequence, unsealed) = rig.store.synced_files(GROUP, generation).expect("it is open");
    assert_eq!(unsealed.map(|unsealed| unsealed.base_offset), Some(UNSEALED));
    let vouched = Vouched { list_sequence, unsealed, ..Vouched::new(log.head(), last_offset, generation) };
    (log, vouched)
}

fn segment(base_offset: u64) -> PathBuf {
    Home::new("data").group(GROUP).directory().join(format!("{base_offset:020}.log"))
}

fn list() -> PathBuf {
    Home::new("data").group(GROUP).segments()
}

fn remove(environment: &Mortal, path: &Path) {
    environment.remove_file(path).expect("it is there");
    environment.sync_directory(path.parent().expect("a directory")).expect("a healthy disk");
}

/// Puts other bytes in the place of a file.
fn replace(environment: &Mortal, path: &Path, bytes: &[u8]) {
    remove(environment, path);
    let limits = DriverLimits { operations_max: 4, handles_max: 4 };
    let mut driver = environment.driver(limits).expect("a driver");
    let mut shell = PlanShell::new(1, 1, 2, false);
    let directory = path.parent().expect("a directory").to_owned();
    let plan = vec![
        Step::Write { path: path.to_owned(), offset: 0, buffer: bytes.to_vec().into(), batches: false },
        Step::Sync { path: path.to_owned(), batches: false },
        Step::SyncDirectory(directory),
    ];
    shell.start(&mut driver, 0, plan);
    let mut completions = Vec::new();
    loop {
        driver.complete(Wait::Until(Instant::FAR_FUTURE), &mut completions).expect("a healthy disk");
        for completion in completions.drain(..) {
            if let Some((_, result)) = shell.completed(&mut driver, completion) {
                result.expect("a healthy disk");
                return;
            }
        }
    }
}

fn truncate(environment: &Mortal, path: &Path, bytes: usize) {
    let whole = environment.machine.file_bytes(path).expect("it is there");
    replace(environment, path, &whole[..bytes]);
}

/// The next life of the process, with the group open and everything verified.
fn opened(environment: &Mortal, vouched: &Vouched) -> Rig<Mortal> {
    environment.restart();
    let mut rig = Rig::new(environment, Home::new("data"), 2);
    rig.open(GROUP, Some(vouched.clone()));
    rig.until("it opens", |rig| rig.opened.contains_key(&GROUP));
    assert!(rig.damaged.is_empty(), "{:?}", rig.damaged);
    rig.until("all is verified", |rig| rig.store.is_verified(GROUP));
    rig
}

/// The offsets that can be read, one by one, and those that are refused.
fn read(rig: &mut Rig<Mortal>, until: u64) -> (Vec<u64>, Vec<u64>) {
    let (mut whole, mut refused) = (Vec::new(), Vec::new());
    for offset in 0..=until {
        let fetch = Fetch {
            asker: offset,
            generation: 0,
            sought: Sought::Offset(offset),
            until: offset,
            bytes: 4_096,
            batch_bytes: 1 << 20,
        };
        rig.act(|store, effects| store.fetch(GROUP, fetch, effects));
        rig.until("an answer", |rig| rig.said.iter().any(|said| matches!(said, Effect::Fetched { .. })));
        let place = rig.said.iter().position(|said| matches!(said, Effect::Fetched { .. })).expect("one");
        let Effect::Fetched { fetched, .. } = rig.said.remove(place) else { panic!("another effect") };
        match fetched {
            Fetched::Batches(found) => {
                let batch = &found.buffer[found.batches[0].clone()];
                match ng_wire::batch::verify(batch) {
                    Ok(batch) => {
                        assert_eq!(batch.first_offset, offset, "no other message is served");
                        whole.push(offset);
                    }
                    Err(_) => refused.push(offset),
                }
            }
            Fetched::Damaged(_) => refused.push(offset),
            other => panic!("offset {offset}: {other:?}"),
        }
    }
    (whole, refused)
}

fn fenced(rig: &Rig<Mortal>) -> Vec<(u64, u64)> {
    let fences = rig.fenced.get(&GROUP).cloned().unwrap_or_default();
    fences.iter().map(|fence| (fence.first_offset, fence.last_offset)).collect()
}

/// Opens the group after damage: exactly `lost` is lost, in this life and in the one after, and the group goes on.
fn loses(environment: &Mortal, vouched: &Vouched, lost: &[u64], what: &str) {
    let last = vouched.last_offset;
    let kept: Vec<u64> = (0..=last).filter(|offset| !lost.contains(offset)).collect();
    let mut rig = opened(environment, vouched);
    let ranges = fenced(&rig);
    let named: Vec<u64> = ranges.iter().flat_map(|(first, last)| *first..=*last).collect();
    assert_eq!(named, lost, "{what}");
    assert_eq!(read(&mut rig, last), (kept.clone(), lost.to_vec()), "{what}");
    rig.append(GROUP, batch(vouched.op + 1, 0, last + 1, b"more"));
    assert!(rig.settle_all([GROUP].into_iter()) && rig.fault.is_none(), "{what}");
    assert_eq!(rig.store.held(GROUP).and_then(|held| held.last_offset), Some(last + 1), "{what}");
    let (list_sequence, unsealed) = rig.store.synced_files(GROUP, 0).expect("it is open");
    drop(rig);
    let next = Vouched { list_sequence, unsealed, ..Vouched::new(vouched.op + 1, last + 1, 0) };
    let mut rig = opened(environment, &next);
    assert_eq!(fenced(&rig), ranges, "{what}: the next start names the same");
    let with_more: Vec<u64> = kept.into_iter().chain([last + 1]).collect();
    assert_eq!(read(&mut rig, last + 1), (with_more, lost.to_vec()), "{what}: in the next life");
}

#[test]
fn a_flip_anywhere_in_the_unsealed_segment_costs_one_message() {
    let positions = {
        let environment = Mortal::new(1);
        grown(&environment);
        environment.machine.file_bytes(&segment(UNSEALED)).expect("the file").len()
    };
    let mut begins = vec![0];
    for size in &SIZES[usize::try_from(UNSEALED).expect("small")..] {
        begins.push(begins.last().expect("one") + 256 + 48 + size);
    }
    for position in (0..positions).step_by(61).chain(0..70) {
        let environment = Mortal::new(1);
        let (_, vouched) = grown(&environment);
        assert!(environment.machine.rot(&segment(UNSEALED), position, 0x10));
        let hit = begins.windows(2).position(|pair| (pair[0]..pair[1]).contains(&position));
        let lost: Vec<u64> = hit.map(|hit| UNSEALED + hit as u64).into_iter().collect();
        loses(&environment, &vouched, &lost, &format!("a flip at {position}"));
    }
}

/// Makes a page of a file zero.
fn zero(environment: &Mortal, path: &Path, page: usize) {
    let mut bytes = environment.machine.file_bytes(path).expect("it is there");
    let end = bytes.len().min((page + 1) * PAGE);
    bytes[page * PAGE..end].fill(0);
    replace(environment, path, &bytes);
}

#[test]
fn a_page_of_zeroes_costs_what_was_in_it() {
    for (page, lost) in [(0, 4..=4), (1, 4..=7), (2, 7..=7)] {
        let environment = Mortal::new(16);
        let (_, vouched) = grown(&environment);
        zero(&environment, &segment(UNSEALED), page);
        let lost: Vec<u64> = lost.collect();
        loses(&environment, &vouched, &lost, &format!("page {page} is zero"));
    }
}

/// Also after the index is lost: it leads past the damage again.
#[test]
fn a_page_of_zeroes_in_a_sealed_segment_costs_what_was_in_it() {
    for (page, lost) in [(0, vec![0]), (1, vec![0, 1]), (2, vec![1])] {
        let environment = Mortal::new(17);
        let (_, vouched) = grown(&environment);
        zero(&environment, &segment(0), page);
        let kept: Vec<u64> = (0..8).filter(|offset| !lost.contains(offset)).collect();
        let mut rig = opened(&environment, &vouched);
        let _ = read(&mut rig, 7);
        rig.act(|store, effects| store.distrust(GROUP, lost[0], effects));
        rig.until("it is named", |rig| rig.fenced.contains_key(&GROUP));
        assert_eq!(fenced(&rig), [(lost[0], lost[lost.len() - 1])], "page {page}");
        assert_eq!(read(&mut rig, 7), (kept.clone(), lost.clone()), "page {page}");
        drop(rig);
        let index = segment(0).with_extension("index");
        if environment.machine.file_bytes(&index).is_some() {
            remove(&environment, &index);
        }
        let mut rig = opened(&environment, &vouched);
        assert_eq!(read(&mut rig, 7), (kept, lost), "page {page}: the index is gone");
    }
}

#[test]
fn a_segment_that_was_cut_loses_what_was_cut_off() {
    for (bytes, lost) in
        [(0, 4..=7), (100, 4..=7), (4_104, 5..=7), (4_400, 5..=7), (7_900, 6..=7), (8_100, 7..=7)]
    {
        let environment = Mortal::new(2);
        let (_, vouched) = grown(&environment);
        truncate(&environment, &segment(UNSEALED), bytes);
        let lost: Vec<u64> = lost.collect();
        loses(&environment, &vouched, &lost, &format!("cut to {bytes}"));
    }
}

#[test]
fn a_segment_that_is_gone_loses_its_own_messages() {
    let environment = Mortal::new(3);
    let (_, vouched) = grown(&environment);
    remove(&environment, &segment(UNSEALED));
    loses(&environment, &vouched, &[4, 5, 6, 7], "the unsealed segment is gone");
}

#[test]
fn a_list_that_is_gone_or_damaged_is_made_anew() {
    for flip in [None, Some(0), Some(20), Some(24), Some(28), Some(50), Some(150)] {
        let environment = Mortal::new(4);
        let (_, vouched) = grown(&environment);
        match flip {
            Some(position) => assert!(environment.machine.rot(&list(), position, 1)),
            None => remove(&environment, &list()),
        }
        loses(&environment, &vouched, &[], &format!("a flip of the list at {flip:?}"));
    }
}

#[test]
fn without_the_list_and_a_segment_that_segment_is_lost() {
    for (base_offset, lost) in [(0, vec![0, 1]), (2, vec![2, 3]), (UNSEALED, vec![4, 5, 6, 7])] {
        let environment = Mortal::new(5);
        let (_, vouched) = grown(&environment);
        remove(&environment, &list());
        remove(&environment, &segment(base_offset));
        loses(&environment, &vouched, &lost, &format!("segment {base_offset} and the list are gone"));
    }
}

#[test]
fn an_older_list_is_noticed_and_loses_nothing() {
    let environment = Mortal::new(6);
    let mut rig = Rig::new(&environment, Home::new("data"), 1);
    rig.append(GROUP, batch(1, 0, 0, &[9; 6_000]));
    assert!(rig.settle_all([GROUP].into_iter()));
    let old = environment.machine.file_bytes(&list()).expect("a list");
    drop(rig);
    let environment = Mortal::new(6);
    let (_, vouched) = grown(&environment);
    replace(&environment, &list(), &old);
    loses(&environment, &vouched, &[], "the list is an older one");
}

/// Batches do not name their group: a file of another group looks whole.
#[test]
fn a_segment_of_another_group_is_not_served() {
    // The last one was stamped in the same microseconds.
    for (base_offset, first_op) in [(UNSEALED, 101), (0, 101), (UNSEALED, 1)] {
        let environment = Mortal::new(12);
        let (_, vouched) = grown(&environment);
        let mut other = Rig::new(&environment, Home::new("data"), 2);
        for (number, size) in (0..).zip(SIZES) {
            other.append(8, batch(number + first_op, 0, number, &vec![8; size]));
        }
        assert!(other.settle_all([8].into_iter()));
        drop(other);
        let name = segment(base_offset);
        let foreign = Home::new("data").group(8).directory().join(name.file_name().expect("a name"));
        let foreign = environment.machine.file_bytes(&foreign).expect("it is there");
        replace(&environment, &name, &foreign);
        let (lost, kept) = match base_offset {
            0 => (vec![0, 1], (2..8).collect()),
            _ => (vec![4, 5, 6, 7], (0..4).collect::<Vec<u64>>()),
        };
        let mut rig = opened(&environment, &vouched);
        assert_eq!(read(&mut rig, 7), (kept, lost.clone()), "segment {base_offset}");
        rig.until("it is named", |rig| rig.fenced.contains_key(&GROUP));
        assert_eq!(fenced(&rig), [(lost[0], lost[lost.len() - 1])], "segment {base_offset}");
    }
}

/// Nothing but the first batch tells such a file: where the footer of the segment should be it has ended.
#[test]
fn a_shorter_segment_of_another_group_is_not_served() {
    // Sealed, after one batch that was stamped in the same microsecond; and the same without its footer.
    for with_footer in [true, false] {
        let environment = Mortal::new(12);
        let (_, vouched) = grown(&environment);
        let mut other = Rig::new(&environment, Home::new("data"), 2);
        for (number, size) in (0..).zip([9_000, 12_000]) {
            other.append(8, batch(number + 1, 0, number, &vec![8; size]));
        }
        assert!(other.settle_all([8].into_iter()));
        drop(other);
        let name = segment(0);
        let foreign = Home::new("data").group(8).directory().join(name.file_name().expect("a name"));
        let foreign = environment.machine.file_bytes(&foreign).expect("it is there");
        let batches = 9_304_usize.next_multiple_of(PAGE);
        assert!(foreign.len() > batches, "a sealed segment has a footer");
        replace(&environment, &name, if with_footer { &foreign } else { &foreign[..batches] });
        let mut rig = opened(&environment, &vouched);
        assert_eq!(read(&mut rig, 7), ((2..8).collect(), vec![0, 1]), "with a footer: {with_footer}");
        rig.until("it is named", |rig| rig.fenced.contains_key(&GROUP));
        assert_eq!(fenced(&rig), [(0, 1)], "with a footer: {with_footer}");
    }
}

#[test]
fn without_its_footer_a_segment_is_served_as_long_as_its_index_knows_it() {
    for with_index in [true, false] {
        let environment = Mortal::new(12);
        let (_, vouched) = grown(&environment);
        truncate(&environment, &segment(0), 12_608_usize.next_multiple_of(PAGE));
        if !with_index {
            remove(&environment, &segment(0).with_extension("index"));
        }
        let mut rig = opened(&environment, &vouched);
        if with_index {
            assert_eq!(read(&mut rig, 7), ((0..8).collect(), vec![]));
            continue;
        }
        assert_eq!(read(&mut rig, 7), ((2..8).collect(), vec![0, 1]), "nothing says whose it is");
        rig.until("it is named", |rig| rig.fenced.contains_key(&GROUP));
        assert_eq!(fenced(&rig), [(0, 1)]);
    }
}

/// The unsealed segment of another group, which begins there.
fn foreign(environment: &Mortal, begins: u64, sizes: [usize; 8]) -> Vec<u8> {
    let mut other = Rig::new(environment, Home::new("data"), 2);
    for (number, size) in (0..).zip(sizes) {
        other.append(8, batch(number + 101, 0, number, &vec![7; size]));
    }
    assert!(other.settle_all([8].into_iter()));
    let name = Home::new("data").group(8).directory().join(format!("{begins:020}.log"));
    environment.machine.file_bytes(&name).expect("it is there")
}

/// Sizes of messages, of which the unsealed segment begins one earlier.
const EARLIER: [usize; 8] = [6_000, 4_000, 4_000, 6_000, 300, 300, 300, 300];

#[test]
fn a_segment_of_another_group_that_begins_earlier_is_not_served() {
    let environment = Mortal::new(15);
    let (_, vouched) = grown(&environment);
    let foreign = foreign(&environment, UNSEALED - 1, EARLIER);
    // As if its first message were a batch of two.
    let length = |at: usize| {
        usize::try_from(u64::from_le_bytes(*foreign[at + 32..].first_chunk().expect("a header")))
            .expect("short")
    };
    let second = length(0);
    let foreign = [&foreign[..second], &foreign[second + length(second)..]].concat();
    replace(&environment, &segment(UNSEALED), &foreign);
    loses(&environment, &vouched, &[4, 5, 6, 7], "its batches are whole, and of another group");
}

/// The first batch does not tell any more whose file it is. That of the other group begins with the same offset, or with one
/// before, so that no offset is missing in it.
#[test]
fn a_damaged_segment_of_another_group_is_not_served() {
    for (begins, sizes) in [(UNSEALED, SIZES), (UNSEALED - 1, EARLIER)] {
        for flip in [0, 60, 300] {
            let environment = Mortal::new(15);
            let (_, vouched) = grown(&environment);
            let mut foreign = foreign(&environment, begins, sizes);
            foreign[flip] ^= 1;
            replace(&environment, &segment(UNSEALED), &foreign);
            loses(
                &environment,
                &vouched,
                &[4, 5, 6, 7],
                &format!("it begins with {begins}, a flip at {flip}"),
            );
        }
    }
}

#[test]
fn what_the_journal_holds_is_appended_again_and_not_lost() {
    for gone in [true, false] {
        let environment = Mortal::new(7);
        let (log, vouched) = grown(&environment);
        // The manifest is older: it knows half of the unsealed segment.
        let early = Vouched::new(6, 5, 0);
        if gone {
            remove(&environment, &segment(UNSEALED));
        } else {
            assert!(environment.machine.rot(&segment(UNSEALED), 4_708 + 400, 1));
        }
        environment.restart();
        let mut rig = Rig::new(&environment, Home::new("data"), 2);
        rig.open(GROUP, Some(early));
        for said in &log.said[6..] {
            let Said::Batch(batch) = said else { panic!("batches alone") };
            rig.append(GROUP, batch.clone());
        }
        rig.until("it opens", |rig| rig.opened.contains_key(&GROUP));
        assert!(rig.settle_all([GROUP].into_iter()) && rig.fault.is_none());
        let lost = if gone { vec![4, 5] } else { Vec::new() };
        let kept: Vec<u64> = (0..=vouched.last_offset).filter(|offset| !lost.contains(offset)).collect();
        assert_eq!(read(&mut rig, vouched.last_offset), (kept, lost));
    }
}

#[test]
fn what_was_truncated_after_the_manifest_is_not_lost() {
    for damaged in [false, true] {
        let environment = Mortal::new(13);
        let (_, vouched) = grown(&environment);
        let mut rig = opened(&environment, &vouched);
        rig.act(|store, effects| store.roll(GROUP, effects));
        rig.hear("sealed", |said| matches!(said, Effect::Sealed { .. }));
        rig.act(|store, effects| store.truncate_prefix(GROUP, 0, 8, effects));
        rig.hear("truncated", |said| matches!(said, Effect::Truncated { .. }));
        rig.append(GROUP, batch(10, 0, 8, b"more"));
        assert!(rig.settle_all([GROUP].into_iter()));
        drop(rig);
        if damaged {
            assert!(environment.machine.rot(&segment(8), 10, 1));
        }
        environment.restart();
        let mut rig = Rig::new(&environment, Home::new("data"), 3);
        rig.open(GROUP, Some(vouched));
        rig.act(|store, effects| store.truncate_prefix(GROUP, 0, 8, effects));
        rig.append(GROUP, batch(10, 0, 8, b"more"));
        rig.until("it opens", |rig| rig.opened.contains_key(&GROUP));
        assert!(rig.settle_all([GROUP].into_iter()) && rig.fault.is_none());
        assert_eq!(fenced(&rig), []);
        assert_eq!(
            rig.store.held(GROUP).map(|held| (held.first_offset, held.last_offset)),
            Some((Some(8), Some(8)))
        );
    }
}

#[test]
fn an_unreadable_sector_costs_what_is_in_it() {
    let environment = Mortal::new(8);
    let (_, vouched) = grown(&environment);
    environment.machine.spoil(&segment(UNSEALED), 600);
    let mut rig = opened(&environment, &vouched);
    assert_eq!(fenced(&rig), [(4, 4)], "the first page holds most of one message, and nothing of the next");
    assert_eq!(read(&mut rig, 7), (vec![0, 1, 2, 3, 5, 6, 7], vec![4]));
}

/// The name goes while the file is open, or while nobody has it open.
#[test]
fn a_file_that_disappears_is_never_made_again() {
    let environment = Mortal::new(9);
    let (_, vouched) = grown(&environment);
    let mut rig = opened(&environment, &vouched);
    remove(&environment, &segment(UNSEALED));
    rig.forget_files();
    rig.append(GROUP, batch(vouched.op + 1, 0, 8, b"more"));
    assert!(rig.settle_all([GROUP].into_iter()));
    assert_eq!(rig.fault, None);
    assert_eq!(fenced(&rig), [(4, 7)]);
    assert!(environment.machine.file_bytes(&segment(UNSEALED)).is_none(), "no sparse file");
    assert_eq!(read(&mut rig, 8), (vec![0, 1, 2, 3, 8], vec![4, 5, 6, 7]));
    let (list_sequence, unsealed) = rig.store.synced_files(GROUP, 0).expect("it is open");
    drop(rig);
    let next = Vouched { list_sequence, unsealed, ..Vouched::new(vouched.op + 1, 8, 0) };
    assert_eq!(fenced(&opened(&environment, &next)), [(4, 7)]);
}

#[test]
fn a_purge_ends_the_fences() {
    let environment = Mortal::new(10);
    let (_, vouched) = grown(&environment);
    remove(&environment, &segment(UNSEALED));
    let mut rig = opened(&environment, &vouched);
    rig.act(|store, effects| store.purge(GROUP, 1, vouched.op + 1, effects));
    rig.until("no fence is left", |rig| rig.fenced.get(&GROUP).is_some_and(Vec::is_empty));
}

#[test]
fn a_start_after_an_orderly_stop_reads_little_of_a_large_segment() {
    let environment = Mortal::new(11);
    let mut rig = Rig::large(&environment, Home::new("data"), 1);
    for number in 0..100_u64 {
        rig.append(GROUP, batch(number + 1, 0, number, &vec![3; 60_000]));
    }
    assert!(rig.settle_all([GROUP].into_iter()));
    let (list_sequence, unsealed) = rig.store.synced_files(GROUP, 0).expect("it is open");
    assert!(unsealed.is_some_and(|unsealed| unsealed.bytes > 5 << 20));
    drop(rig);
    environment.restart();
    let mut rig = Rig::large(&environment, Home::new("data"), 2);
    rig.open(GROUP, Some(Vouched { list_sequence, unsealed, ..Vouched::new(100, 99, 0) }));
    rig.until("it opens", |rig| rig.opened.contains_key(&GROUP));
    assert!(rig.bytes_asked <= 1 << 20, "{} bytes", rig.bytes_asked);
    let (whole, refused) = read(&mut rig, 99);
    assert_eq!((whole.len(), refused.len()), (100, 0), "all of it is served");
}
