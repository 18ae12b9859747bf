//! The shard count changes on a disk that loses power at any operation: all that counts is in the old shards, or in the
//! new ones.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ng_io::simulated::Faults;
use ng_io::{Driver, Environment, Wait};
use ng_storage::boot::BootError;
use ng_storage::data_directory::{DataDirectory, OpenedShard};
use ng_storage::journal::recovery::RecoveredGroup;
use ng_storage::journal::{Effect, Event, PrepareJournal};
use ng_storage::layout::Layout;
use ng_storage::manifest::GroupEntry;
use ng_storage::manifest_writer::{ManifestEffect, ManifestWriter};
use ng_storage::record::{RecordHeader, RecordKind};
use ng_storage::record_body::{OpenBody, ViewBody};
use ng_storage::resharding::Resharding;
use ng_storage::store::shell::PlanShell;

use crate::mortal::Mortal;
use crate::rig::{Manifests, SETTINGS, directory, entry, found, layout, open};

fn owner(group: u64, shards: u32) -> u32 {
    u32::try_from(group % u64::from(shards)).expect("small")
}

fn change<E: Environment>(
    directory: &DataDirectory<E>,
    layout: &Layout,
    shard_count: u32,
) -> Result<Layout, BootError> {
    let mut mark = u128::from(layout.epoch) << 64;
    let mut random = || {
        mark += 1;
        mark
    };
    let change = Resharding { shard_count, owner: &owner, random: &mut random, solo: true };
    directory.change_shard_count(layout, change)
}

/// What counts of a group: opened with which epoch, in which view, which prepares and bodies.
type Content = BTreeMap<u64, (RecoveredGroup, Vec<Vec<u8>>)>;

fn prepares(group: u64) -> Vec<(RecordHeader, Vec<u8>)> {
    let bodies = (1..6_u64).map(|op| (op, vec![u8::try_from(group + op).expect("small"); 700]));
    let header =
        |op, body: &[u8]| RecordHeader { op, view: 1, ..RecordHeader::of(RecordKind::Prepare, group, body) };
    bodies.map(|(op, body)| (header(op, &body), body)).collect()
}

/// The records of a group as a shard writes them: some prepares, a view that drops one of them, another prepare.
fn records(group: u64) -> Vec<(RecordHeader, Vec<u8>)> {
    let open = OpenBody { blank: false, replicas: vec![1] }.encode();
    let opened = RecordHeader { epoch: 3, ..RecordHeader::of(RecordKind::Open, group, &open) };
    let view = ViewBody { view: 2, log_view: 2, commit: 2, head: 4, headers: Vec::new() }.encode();
    let entered = RecordHeader { view: 2, ..RecordHeader::of(RecordKind::View, group, &view) };
    let body = b"after the view".to_vec();
    let after = RecordHeader { op: 5, view: 2, ..RecordHeader::of(RecordKind::Prepare, group, &body) };
    let mut records = vec![(opened, open)];
    records.extend(prepares(group));
    records.extend([(entered, view), (after, body)]);
    records
}

fn write<E: Environment>(mut driver: E::Driver, opened: OpenedShard<E>, groups: impl Iterator<Item = u64>) {
    let OpenedShard { home, superblock, mut shell, recovered, superblocks, superblock_file, .. } = opened;
    let mut plans = PlanShell::new(900, 1, 4, true);
    plans.keep(home.superblock(), superblock_file);
    let mut writer = ManifestWriter::new(home, superblocks);
    let (mut effects, mut said) = (Vec::new(), Vec::new());
    let mut journal = PrepareJournal::resume(
        superblock.journal,
        superblock.incarnation,
        SETTINGS.journal,
        recovered,
        &mut effects,
    );
    let mut records: Vec<_> = groups.flat_map(records).collect();
    records.reverse();
    for _ in 0..10_000 {
        journal.start(&mut effects);
        shell.perform(&mut driver, &mut effects);
        for effect in std::mem::take(&mut effects) {
            assert!(!matches!(effect, Effect::Fatal(_)), "a healthy disk");
            if let Effect::Enlist { files } = effect {
                writer.enlist(files, &mut said);
            }
        }
        for effect in std::mem::take(&mut said) {
            match effect {
                ManifestEffect::Run(plan) => plans.start(&mut driver, 0, plan),
                ManifestEffect::Enlisted => journal.step(Event::Enlisted, &mut effects),
                other => panic!("{other:?}"),
            }
        }
        let mut completions = Vec::new();
        driver
            .complete(Wait::Until(driver.now() + Duration::from_millis(1)), &mut completions)
            .expect("it lives");
        for completion in completions {
            if !shell.owns(&completion) {
                if let Some((_, result)) = plans.completed(&mut driver, completion) {
                    writer.step(result, &mut said);
                }
            } else if let Some(event) = shell.event(&mut driver, completion) {
                journal.step(event, &mut effects);
            }
        }
        if let Some((header, body)) = records.last() {
            if journal.append(*header, Arc::new(body.clone().into())).is_ok() {
                records.pop();
            }
        } else if journal.is_quiet() && journal.wants_mark() {
            // What no later block proves passes for torn.
            journal.step(Event::Idle, &mut effects);
        } else if journal.is_quiet() && !journal.is_growing() {
            return;
        }
    }
    panic!("the records are never written");
}

/// A directory of one shard with six groups, of which the manifest knows one.
fn filled(seed: u64) -> Mortal {
    let environment = Mortal::new(seed);
    let directory = directory(&environment);
    found(&directory, 1).expect("a healthy disk");
    let (driver, opened) = open(&environment, &directory, 0).expect("a whole directory");
    write(driver, opened, 1..7);
    environment.restart();
    let (driver, opened) = open(&environment, &directory, 0).expect("a whole directory");
    Manifests::<Mortal>::new(driver, opened).write(vec![entry(3, 2)]);
    environment.restart();
    environment
}

fn content(environment: &Mortal) -> (Layout, Content, Vec<GroupEntry>) {
    let directory = directory(environment);
    let layout = layout(&directory);
    let (mut content, mut entries) = (Content::new(), Vec::new());
    for shard in 0..layout.shard_count {
        let (_, mut opened) = open(environment, &directory, shard).expect("a whole directory");
        assert_eq!(opened.recovered.damage, vec![]);
        for entry in opened.entries {
            assert_eq!(owner(entry.group, layout.shard_count), shard);
            entries.push(entry);
        }
        for mut group in opened.recovered.take_groups() {
            assert_eq!(owner(group.group, layout.shard_count), shard);
            let body = |header: &RecordHeader| {
                let located = opened.recovered.locate(header.group, header.op).expect("it counts");
                let name = ng_storage::journal::shell::file_name(located.file.expect("it is written"));
                let file =
                    environment.machine.file_bytes(&opened.home.directory().join(name)).expect("the file");
                let start = usize::try_from(located.offset).expect("small");
                file[start..start + located.length as usize].to_vec()
            };
            let bodies = group.prepares.iter().map(|prepare| body(&prepare.header)).collect();
            // When a view was entered, in blocks, is a matter of the journal; what is proven, of the crash before.
            for (header, _) in group.log.iter_mut().chain(&mut group.vote) {
                header.request = 0;
            }
            group.prepares.iter_mut().for_each(|prepare| prepare.proven = true);
            content.insert(group.group, (group, bodies));
        }
        environment.restart();
    }
    entries.sort_by_key(|entry| entry.group);
    (layout, content, entries)
}

#[test]
fn a_change_cut_short_at_any_operation_leaves_the_old_or_the_new_shards() {
    let mut cut = 0;
    loop {
        // A change has some hundreds of operations: every third, and another third with each change of the code.
        cut += 3;
        let environment = filled(cut);
        let (before, expected, entries) = content(&environment);
        assert_eq!((expected.len(), entries.len()), (6, 1));
        environment.cut_after(cut);
        let changed = change(&directory(&environment), &before, 3);
        let died = environment.restart();
        let (after, found, kept) = content(&environment);
        assert!(found == expected, "cut {cut}: {found:?} for {expected:?}");
        assert_eq!(kept, entries, "cut {cut}");
        assert!(after.epoch == 2 || after == before, "cut {cut}");
        match changed {
            Ok(layout) => assert_eq!(after, layout),
            Err(BootError::Io(_)) if died => (),
            Err(error) => panic!("cut {cut}: {error}"),
        }
        let again = change(&directory(&environment), &after, 2).expect("a healthy disk");
        let (last, found, kept) = content(&environment);
        assert_eq!((last.shard_count, &last), (2, &again), "cut {cut}");
        assert!(found == expected && kept == entries, "cut {cut}: after the second change");
        if !died {
            break;
        }
    }
    assert!(cut > 60, "a change has many operations: {cut}");
}

/// Once a start took the new shards from a LAYOUT that was in the page cache alone, as the sync of its directory had failed:
/// power that went later brought the old shards back, and what was acknowledged in between was gone.
#[test]
fn a_change_whose_sync_fails_loses_nothing_that_is_written_afterwards() {
    const LATE: u64 = 100;
    let mut flipped = 0;
    for seed in 0..600 {
        let environment = filled(seed);
        let before = layout(&directory(&environment));
        environment.machine.set_faults(Faults { sync_error: 30, ..Faults::default() });
        let changed = change(&directory(&environment), &before, 3);
        environment.machine.set_faults(Faults { lost_names: 500, ..Faults::default() });
        if changed.is_ok() {
            continue;
        }
        environment.machine.kill();
        let directory = directory(&environment);
        let now = layout(&directory);
        flipped += u32::from(now != before);
        let shard = owner(LATE, now.shard_count);
        let (driver, opened) = open(&environment, &directory, shard).expect("a whole directory");
        write(driver, opened, std::iter::once(LATE));
        environment.restart();
        let (after, found, _) = content(&environment);
        assert_eq!((after, found.len()), (now, 7), "seed {seed}");
        assert!(found.contains_key(&LATE), "seed {seed}");
    }
    assert!(flipped > 2, "syncs fail behind the flip, too: {flipped}");
}

#[test]
fn a_change_over_damage_is_refused_and_changes_nothing() {
    let environment = filled(1);
    let directory = directory(&environment);
    let before = layout(&directory);
    // Copies that were made when a file was freed are hit, too: one that is whole would do.
    let body = &prepares(1)[2].1;
    let mut copies = 0;
    for path in environment.machine.file_names() {
        let bytes = environment.machine.file_bytes(&path).expect("it is listed");
        for (position, _) in bytes.windows(body.len()).enumerate().filter(|(_, window)| window == body) {
            copies += 1;
            assert!(environment.machine.rot(&path, position + 50, 1));
        }
    }
    assert!(copies > 0, "op 3 of group 1 is somewhere");
    let refused = change(&directory, &before, 2).expect_err("a record of it is damaged");
    assert_eq!((refused.status(), matches!(refused, BootError::NotMoved { .. })), (78, true), "{refused}");
    assert_eq!(layout(&directory), before);
}

/// A directory of three shards whose rings are about as full as they may be.
fn three_full_rings() -> Mortal {
    let environment = Mortal::new(1);
    let directory = directory(&environment);
    found(&directory, 3).expect("a healthy disk");
    for shard in 0..3 {
        let (driver, opened) = open(&environment, &directory, shard).expect("a whole directory");
        write(driver, opened, (0..8).map(|number| 3 * number + u64::from(shard)));
        environment.restart();
    }
    environment
}

#[test]
fn three_full_rings_fit_one_that_grows_for_them() {
    let environment = three_full_rings();
    let directory = directory(&environment);
    let before = layout(&directory);
    let after = change(&directory, &before, 1).expect("the new ring has as many files as it takes");
    environment.restart();
    let (now, found, _) = content(&environment);
    assert_eq!((now, found.len()), (after, 24));
    let (_, opened) = open(&environment, &directory, 0).expect("a whole directory");
    assert!(opened.superblock.ring.files > SETTINGS.journal.files_max, "{:?}", opened.superblock.ring);
}

#[test]
fn a_full_disk_keeps_the_shards_and_says_what_helps() {
    let environment = three_full_rings();
    let directory = directory(&environment);
    let before = layout(&directory);
    let used: usize = {
        let names = environment.machine.file_names();
        names.iter().filter_map(|path| environment.machine.file_bytes(path)).map(|bytes| bytes.len()).sum()
    };
    environment.machine.set_capacity(used as u64 + 3 * SETTINGS.journal.file_bytes);
    let refused = change(&directory, &before, 1).expect_err("there is no room for a ring of that size");
    assert_eq!(refused.status(), 78, "{refused}");
    assert!(refused.to_string().contains("system.sharding.cpu_allocation=3"), "{refused}");
    environment.machine.set_capacity(u64::MAX);
    environment.restart();
    let (after, found, _) = content(&environment);
    assert_eq!((after, found.len()), (before, 24));
}
