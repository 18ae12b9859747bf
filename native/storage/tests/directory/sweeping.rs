//! Files of segments that a crash left behind the list that dropped them are gone after the next start.

use std::path::Path;

use ng_io::simulated::Faults;
use ng_storage::home::Home;
use ng_storage::manifest::GroupEntry;
use ng_storage::segments_file::SegmentsFile;
use ng_storage::store::{Effect, SegmentStore};

use crate::mortal::Mortal;
use crate::rig::{Manifests, directory, entry, found, open};
use crate::store_rig::{Rig, batch};

const GROUP: u64 = 7;

/// A directory with a manifest that knows that messages of the group were dropped before.
fn founded(seed: u64) -> Mortal {
    let environment = Mortal::new(seed);
    let directory = directory(&environment);
    found(&directory, 1).expect("a healthy disk");
    let (driver, opened) = open(&environment, &directory, 0).expect("a whole directory");
    let entry = GroupEntry { last_offset: u64::MAX, first_offset: 1, ..entry(GROUP, 1) };
    Manifests::<Mortal>::new(driver, opened).write(vec![entry]);
    environment.restart();
    environment
}

/// Forty messages in several segments, the last of which is open.
fn grown(environment: &Mortal) -> Rig<Mortal> {
    let mut rig = Rig::new(environment, Home::new("data"), 1);
    for op in 1..=40 {
        rig.append(GROUP, batch(op, 0, op - 1, &[7; 1_000]));
    }
    assert!(rig.settle_all([GROUP].into_iter()));
    rig
}

/// The names of files of segments that the list does not name.
fn unlisted(environment: &Mortal) -> Vec<String> {
    let home = Home::new("data").group(GROUP);
    let listed = environment.machine.file_bytes(&home.segments()).expect("a list");
    let listed = SegmentsFile::decode(&listed).expect("a whole list");
    let files = listed.segments.iter().flat_map(|entry| [home.segment(entry), home.index(entry)]);
    let listed: Vec<_> = files.collect();
    let is_segment =
        |path: &Path| path.extension().is_some_and(|ending| ending == "log" || ending == "index");
    let names =
        environment.machine.file_names().into_iter().filter(|path| path.starts_with(home.directory()));
    let left = names.filter(|path| is_segment(path) && !listed.contains(path));
    left.map(|path| path.display().to_string()).collect()
}

/// Lets the power go at every operation of what drops messages. Returns how many of these crashes left files behind.
fn crash_at_every_operation(drop: impl Fn(&mut SegmentStore, &mut Vec<Effect>)) -> usize {
    let mut left_behind = 0;
    for cut in 1..1_000 {
        let environment = founded(cut);
        let mut rig = grown(&environment);
        environment.cut_after(cut);
        rig.act(&drop);
        let lived = rig.settle(GROUP) && !(0..100).any(|_| !rig.settle(GROUP));
        std::mem::drop(rig);
        environment.restart();
        left_behind += usize::from(!unlisted(&environment).is_empty());
        let directory = directory(&environment);
        for _ in 0..2 {
            std::mem::drop(open(&environment, &directory, 0).expect("a whole directory"));
            assert_eq!(unlisted(&environment), [""; 0], "cut at {cut}");
            environment.restart();
        }
        let mut rig = Rig::new(&environment, Home::new("data"), 2);
        rig.open(GROUP, None);
        assert!(rig.settle(GROUP) && rig.damaged.is_empty(), "cut at {cut}: {:?}", rig.damaged);
        if lived {
            return left_behind;
        }
    }
    panic!("the operations never end");
}

#[test]
fn a_truncation_that_was_cut_short_leaves_nothing() {
    let left = crash_at_every_operation(|store, effects| store.truncate_prefix(GROUP, 0, 30, effects));
    assert!(left > 0, "no crash came in between");
}

#[test]
fn a_purge_that_was_cut_short_leaves_nothing() {
    let left = crash_at_every_operation(|store, effects| store.purge(GROUP, 1, 41, effects));
    assert!(left > 0, "no crash came in between");
}

/// A manifest of the new generation says that nothing is left of the old one, and starts believe it.
#[test]
fn what_was_purged_does_not_come_back_behind_a_manifest() {
    for seed in 1..=20 {
        let environment = founded(seed);
        let directory = directory(&environment);
        let (driver, opened) = open(&environment, &directory, 0).expect("a whole directory");
        let mut manifests = Manifests::<Mortal>::new(driver, opened);
        let mut rig = grown(&environment);
        rig.act(|store, effects| store.purge(GROUP, 1, 41, effects));
        assert!(rig.settle(GROUP));
        let purged = GroupEntry { last_offset: u64::MAX, purge_generation: 1, ..entry(GROUP, 41) };
        manifests.write(vec![purged]);
        drop((rig, manifests));
        environment.machine.set_faults(Faults { lost_names: 1000, ..Faults::default() });
        environment.restart();
        drop(open(&environment, &directory, 0).expect("a whole directory"));
        assert_eq!(unlisted(&environment), [""; 0], "seed {seed}");
    }
}
