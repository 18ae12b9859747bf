//! Manifests are put in force on a disk that loses power at any moment, or is full.

use ng_io::simulated::Random;
use ng_storage::manifest_writer::ManifestEffect;

use crate::mortal::Mortal;
use crate::rig::{Manifests, directory, entry, found, open};

fn in_force(said: &[ManifestEffect]) -> bool {
    said.iter().any(|effect| matches!(effect, ManifestEffect::InForce { .. }))
}

#[test]
fn a_cut_at_any_operation_leaves_the_last_or_the_next_manifest() {
    for seed in 0..400 {
        let environment = Mortal::new(seed);
        let directory = directory(&environment);
        found(&directory, 1).expect("a healthy disk");
        let mut random = Random::new(!seed);
        let mut expected: Vec<u64> = Vec::new();
        for life in 0..5_u64 {
            let (driver, opened) = open(&environment, &directory, 0).expect("a whole directory");
            let found: Vec<u64> = opened.entries.iter().map(|entry| entry.group).collect();
            assert!(found == expected || found.last() == Some(&life), "seed {seed}/{life}: {found:?}");
            expected = found;
            let mut shard = Manifests::<Mortal>::new(driver, opened);
            environment.cut_after(1 + random.below(20));
            let next: Vec<u64> = expected.iter().copied().chain([life + 1]).collect();
            let said = shard.write(next.iter().map(|group| entry(*group, 3)).collect());
            if in_force(&said) {
                expected = next;
            }
            environment.restart();
            let (_, opened) = open(&environment, &directory, 0).expect("a whole directory");
            let found: Vec<u64> = opened.entries.iter().map(|entry| entry.group).collect();
            let newer = found.last() == Some(&(life + 1));
            assert!(newer || found == expected, "seed {seed}/{life}: {found:?} for {expected:?}");
            expected = found;
            environment.restart();
        }
    }
}

#[test]
fn only_the_manifest_in_force_stays() {
    let environment = Mortal::new(1);
    let directory = directory(&environment);
    found(&directory, 1).expect("a healthy disk");
    let (driver, opened) = open(&environment, &directory, 0).expect("a whole directory");
    let mut shard = Manifests::<Mortal>::new(driver, opened);
    for round in 1..5 {
        assert!(in_force(&shard.write(vec![entry(7, round)])));
    }
    let names = environment.machine.file_names();
    let manifests = names.iter().filter(|path| path.to_string_lossy().contains("manifest-"));
    assert_eq!(manifests.count(), 1, "{names:?}");
}

#[test]
fn a_full_disk_leaves_the_manifest_before_in_force_and_heals() {
    let environment = Mortal::new(1);
    let directory = directory(&environment);
    found(&directory, 1).expect("a healthy disk");
    let (driver, opened) = open(&environment, &directory, 0).expect("a whole directory");
    let mut shard = Manifests::<Mortal>::new(driver, opened);
    assert!(in_force(&shard.write(vec![entry(7, 1)])));
    environment.machine.set_capacity(0);
    let said = shard.write((0..200).map(|group| entry(group, 2)).collect());
    assert!(matches!(said.as_slice(), [ManifestEffect::GivenUp]), "{said:?}");
    assert_eq!(shard.writer.superblock().manifest.sequence, 1);
    environment.machine.set_capacity(u64::MAX);
    assert!(in_force(&shard.write(vec![entry(7, 3)])));
    environment.restart();
    let (_, opened) = open(&environment, &directory, 0).expect("a whole directory");
    assert_eq!(opened.entries, vec![entry(7, 3)]);
}

#[test]
fn an_orderly_stop_is_known_to_the_next_start_and_only_to_that() {
    let environment = Mortal::new(1);
    let directory = directory(&environment);
    found(&directory, 1).expect("a healthy disk");
    let (driver, opened) = open(&environment, &directory, 0).expect("a whole directory");
    let mut shard = Manifests::<Mortal>::new(driver, opened);
    let mut effects = Vec::new();
    shard.writer.begin();
    shard.writer.mark_clean(&mut effects);
    let said = shard.work(effects);
    assert!(matches!(said.as_slice(), [ManifestEffect::Clean]), "{said:?}");
    for clean in [true, false] {
        environment.restart();
        let (_, opened) = open(&environment, &directory, 0).expect("a whole directory");
        assert_eq!(opened.was_clean, clean);
    }
}
