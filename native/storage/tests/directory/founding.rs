//! Founding is cut short at every operation, and cut short again.

use std::path::Path;

use ng_io::Environment;
use ng_io::simulated::{Faults, Random};
use ng_storage::boot::BootError;
use ng_storage::founding::LayoutState;

use crate::mortal::Mortal;
use crate::rig::{SETTINGS, directory, found, layout, open};

/// A directory that is founded again after each cut, until it is there.
fn found_through_cuts(environment: &Mortal, cuts: impl Iterator<Item = u64>) -> u32 {
    let directory = directory(environment);
    let mut lives = 1;
    for cut in cuts {
        environment.cut_after(cut);
        let done = match directory.layout() {
            Ok(LayoutState::Complete(_)) => Ok(()),
            Ok(LayoutState::Nothing) => found(&directory, 2).map(|_| ()),
            Err(error) => Err(error),
        };
        let died = environment.restart();
        match done {
            Ok(()) => break,
            Err(BootError::Io(_)) if died => lives += 1,
            Err(error) => panic!("a start after a cut finds {error}"),
        }
    }
    lives
}

fn is_sound(environment: &Mortal) {
    let directory = directory(environment);
    let layout = layout(&directory);
    assert_eq!((layout.epoch, layout.shard_count, layout.journals.len()), (1, 2, 2));
    for shard in 0..2 {
        let (_, opened) = open(environment, &directory, shard).expect("a founded shard");
        assert_eq!(opened.superblock.incarnation, 2, "the founding was the first");
        assert_eq!(opened.recovered.damage, vec![], "nothing is damaged");
        assert!(opened.entries.is_empty() && !opened.was_clean);
    }
}

#[test]
fn a_founding_cut_short_at_any_operation_is_begun_anew_or_finished() {
    let mut cuts = 0;
    loop {
        cuts += 1;
        let environment = Mortal::new(cuts);
        let lives = found_through_cuts(&environment, [cuts, u64::MAX].into_iter());
        is_sound(&environment);
        if lives == 1 {
            break;
        }
    }
    assert!(cuts > 40, "a founding has many operations: {cuts}");
}

#[test]
fn a_founding_cut_short_again_and_again_comes_to_its_end() {
    for seed in 0..60 {
        let environment = Mortal::new(seed);
        let mut random = Random::new(seed);
        let cuts: Vec<u64> = (0..8).map(|_| 1 + random.below(150)).chain([u64::MAX]).collect();
        found_through_cuts(&environment, cuts.into_iter());
        is_sound(&environment);
    }
}

/// Its own name is one of those that a cut may lose, also where a process that was killed had made it.
#[test]
fn a_founded_directory_survives_a_power_cut_that_loses_names() {
    for seed in 0..60 {
        let environment = Mortal::new(seed);
        environment.machine.set_faults(Faults { lost_names: 1000, ..Faults::default() });
        if seed % 2 == 0 {
            environment.make_directories(Path::new("data")).expect("a healthy disk");
        }
        found(&directory(&environment), 2).expect("a healthy disk");
        environment.restart();
        is_sound(&environment);
    }
}

#[test]
fn a_founded_directory_is_not_founded_again() {
    let environment = Mortal::new(1);
    let directory = directory(&environment);
    found(&directory, 2).expect("a healthy disk");
    let refused = found(&directory, 2).expect_err("it is there");
    assert_eq!((refused.status(), matches!(refused, BootError::Founded(_))), (78, true));
}

#[test]
fn shards_or_groups_without_a_layout_are_refused() {
    let environment = Mortal::new(1);
    let directory = directory(&environment);
    found(&directory, 1).expect("a healthy disk");
    environment.remove_file(&directory.home().layout()).expect("a healthy disk");
    let refused = directory.layout().expect_err("which journals count?");
    assert_eq!(refused.status(), 65);
    assert!(refused.to_string().contains("Restore it"), "{refused}");

    let environment = Mortal::new(1);
    let directory = crate::rig::directory(&environment);
    environment.make_directories(&directory.home().groups().join("07")).expect("a healthy disk");
    assert_eq!(directory.layout().map_err(|refused| refused.status()), Err(65));
}

#[test]
fn another_configuration_is_refused_with_its_value() {
    let environment = Mortal::new(1);
    let mut driver = environment.driver(crate::rig::DRIVER).expect("a driver");
    let home = directory(&environment).home().clone();
    let founded = found(&directory(&environment), 1).expect("a healthy disk");
    let mut settings = SETTINGS;
    settings.genesis.pipeline_depth = 99;
    let other = ng_storage::data_directory::DataDirectory::new(environment, home, settings);
    let refused = other.open_shard(&mut driver, &founded, 0).expect_err("the depth differs");
    assert_eq!(refused.status(), 78);
    assert!(refused.to_string().contains("pipeline depth is 4, the configuration says 99"), "{refused}");
}

#[test]
fn each_start_has_an_incarnation_of_its_own() {
    let environment = Mortal::new(1);
    let directory = directory(&environment);
    found(&directory, 1).expect("a healthy disk");
    for incarnation in 2..6 {
        let (_, opened) = open(&environment, &directory, 0).expect("a healthy disk");
        assert_eq!(opened.superblock.incarnation, incarnation);
        environment.restart();
    }
}
