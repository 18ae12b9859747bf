//! Names over a power cut: of each directory a prefix of its changes, renames as a whole, and the room they take.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ng_io::simulated::Faults;
use ng_io::{Environment, FileOptions, SimulatedEnvironment};

use crate::rig::attach_to;

const LOSING: Faults = Faults {
    write_error: 0,
    sync_error: 0,
    read_error: 0,
    removal_error: 0,
    misdirected_write: 0,
    late_writes: 0,
    lost_names: 1000,
};

fn machine(seed: u64, directories: &[&str]) -> SimulatedEnvironment {
    let environment = SimulatedEnvironment::new(seed);
    environment.set_faults(LOSING);
    for directory in directories {
        environment.make_directories(Path::new(directory)).expect("an empty disk");
    }
    sync(&environment, &["", "one", "two"]);
    environment
}

fn sync(environment: &SimulatedEnvironment, directories: &[&str]) {
    for directory in directories {
        match environment.sync_directory(Path::new(directory)) {
            Err(error) if error.is_absent() => {}
            synced => synced.expect("a good disk"),
        }
    }
}

/// Makes a file whose content is synced.
fn leave(environment: &SimulatedEnvironment, path: &str, content: &[u8]) {
    let mut disk = attach_to(environment.clone(), Path::new(path), FileOptions::WRITE);
    disk.write(0, content).expect("a good disk");
    disk.sync().expect("a good disk");
}

fn content(environment: &SimulatedEnvironment, path: &str) -> Option<Vec<u8>> {
    environment.file_bytes(Path::new(path))
}

fn names(environment: &SimulatedEnvironment) -> Vec<String> {
    environment.file_names().iter().map(|path| path.display().to_string()).collect()
}

#[test]
fn a_cut_keeps_the_changes_of_a_directory_up_to_one_of_them() {
    let mut outcomes = BTreeSet::new();
    for seed in 0..200 {
        let environment = machine(seed, &["one"]);
        leave(&environment, "one/old", b"old");
        leave(&environment, "one/kept", b"kept");
        sync(&environment, &["one"]);
        leave(&environment, "one/a", b"a");
        environment.rename(Path::new("one/a"), Path::new("one/b")).expect("it is there");
        environment.remove_file(Path::new("one/old")).expect("it is there");
        leave(&environment, "one/c", b"c");
        environment.cut_power();
        outcomes.insert(names(&environment));
        assert_eq!(content(&environment, "one/kept"), Some(b"kept".to_vec()), "seed {seed}");
        assert!(content(&environment, "one/old").is_none_or(|old| old == b"old"), "seed {seed}");
        assert!(content(&environment, "one/b").is_none_or(|renamed| renamed == b"a"), "seed {seed}");
    }
    let prefixes: BTreeSet<Vec<String>> = [
        vec!["one/kept", "one/old"],
        vec!["one/a", "one/kept", "one/old"],
        vec!["one/b", "one/kept", "one/old"],
        vec!["one/b", "one/kept"],
        vec!["one/b", "one/c", "one/kept"],
    ]
    .map(|names| names.into_iter().map(String::from).collect())
    .into();
    assert_eq!(outcomes, prefixes);
}

#[test]
fn a_replaced_file_is_the_old_or_the_new_one() {
    let mut outcomes = BTreeSet::new();
    for seed in 0..100 {
        let environment = machine(seed, &["one"]);
        leave(&environment, "one/f", b"old");
        sync(&environment, &["one"]);
        leave(&environment, "one/f.new", b"new!");
        environment.rename(Path::new("one/f.new"), Path::new("one/f")).expect("it is there");
        environment.cut_power();
        outcomes.insert(content(&environment, "one/f").expect("one of them"));
    }
    assert_eq!(outcomes, [b"old".to_vec(), b"new!".to_vec()].into());
}

#[test]
fn a_rename_between_directories_happens_in_both_or_in_neither() {
    let mut outcomes = BTreeSet::new();
    for seed in 0..200 {
        let environment = machine(seed, &["one/in", "two"]);
        leave(&environment, "one/in/f", b"x");
        sync(&environment, &["one/in"]);
        leave(&environment, "two/before", b"x");
        environment.rename(Path::new("one/in"), Path::new("two/in")).expect("it is there");
        leave(&environment, "one/after", b"x");
        environment.cut_power();
        let names = names(&environment);
        let has = |name: &str| names.iter().any(|there| there == name);
        assert_ne!(has("one/in/f"), has("two/in/f"), "seed {seed}: {names:?}");
        assert!(has("two/before") || !has("two/in/f"), "seed {seed}: {names:?}");
        assert!(has("two/in/f") || !has("one/after"), "seed {seed}: {names:?}");
        outcomes.insert(names);
    }
    assert_eq!(outcomes.len(), 4, "{outcomes:?}");
}

#[test]
fn a_sync_of_either_directory_makes_a_rename_between_them_last() {
    for seed in 0..50 {
        for synced in ["one", "two"] {
            let environment = machine(seed, &["one", "two"]);
            leave(&environment, "two/before", b"x");
            leave(&environment, "one/f", b"x");
            environment.rename(Path::new("one/f"), Path::new("two/f")).expect("it is there");
            sync(&environment, &[synced]);
            environment.cut_power();
            assert_eq!(names(&environment), ["two/before", "two/f"], "seed {seed}");
        }
    }
}

#[test]
fn a_sync_of_a_file_does_not_make_its_name_last() {
    let lost = (0..50).filter(|seed| {
        let environment = machine(*seed, &["one"]);
        leave(&environment, "one/f", b"synced");
        environment.cut_power();
        content(&environment, "one/f").is_none()
    });
    assert!((10..40).contains(&lost.count()));
}

#[test]
fn what_was_in_a_lost_directory_is_lost_with_it() {
    let mut outcomes = BTreeSet::new();
    for seed in 0..50 {
        let environment = machine(seed, &[]);
        environment.make_directories(Path::new("one/in")).expect("an empty disk");
        leave(&environment, "one/in/f", b"x");
        sync(&environment, &["one/in"]);
        environment.cut_power();
        outcomes.insert(names(&environment));
    }
    assert_eq!(outcomes, [Vec::new(), vec!["one/in/f".to_owned()]].into());
}

#[test]
fn names_survive_where_none_are_to_be_lost() {
    let environment = machine(1, &["one"]);
    environment.set_faults(Faults::default());
    leave(&environment, "one/f", b"x");
    environment.cut_power();
    assert_eq!(content(&environment, "one/f"), Some(b"x".to_vec()));
}

#[test]
fn an_open_file_outlives_its_name() {
    let environment = machine(1, &["one"]);
    let mut disk = attach_to(environment.clone(), Path::new("one/f"), FileOptions::WRITE);
    disk.write(0, b"content").expect("a good disk");
    environment.rename(Path::new("one/f"), Path::new("g")).expect("it is there");
    disk.write(0, b"C").expect("a good disk");
    assert_eq!(content(&environment, "g"), Some(b"Content".to_vec()));
    environment.remove_file(Path::new("g")).expect("it is there");
    // Enough for the disk to tidy up.
    for _ in 0..200 {
        leave(&environment, "one/other", b"x");
        environment.remove_file(Path::new("one/other")).expect("it is there");
        sync(&environment, &["", "one"]);
    }
    assert_eq!(disk.read(0, 10), Ok(b"Content".to_vec()));
    assert_eq!(names(&environment), Vec::<String>::new());
}

#[test]
fn what_a_cut_may_bring_back_is_kept() {
    let mut outcomes = BTreeSet::new();
    for seed in 0..20 {
        let environment = machine(seed, &["one"]);
        leave(&environment, "one/f", b"back");
        sync(&environment, &["one"]);
        environment.remove_file(Path::new("one/f")).expect("it is there");
        // Enough for the disk to tidy up.
        for _ in 0..80 {
            leave(&environment, "other", b"x");
            environment.remove_file(Path::new("other")).expect("it is there");
            sync(&environment, &[""]);
        }
        environment.cut_power();
        outcomes.insert(content(&environment, "one/f"));
    }
    assert_eq!(outcomes, [None, Some(b"back".to_vec())].into());
}

#[test]
fn the_room_on_a_disk_is_that_of_the_files_which_have_a_name() {
    let environment = machine(3, &["one"]);
    environment.set_capacity(10_000);
    leave(&environment, "one/a", &[1; 6_000]);
    leave(&environment, "one/b", &[1; 4_000]);
    let mut disk = attach_to(environment.clone(), Path::new("one/c"), FileOptions::WRITE);
    assert_eq!(disk.write(0, &[1; 10]), Err(libc::ENOSPC));
    assert_eq!(disk.write(0, &[]), Ok(()));
    environment.rename(Path::new("one/b"), Path::new("one/a")).expect("it is there");
    disk.write(0, &[1; 6_000]).expect("what was replaced takes no room");
    assert_eq!(disk.write(6_000, &[1; 10]), Err(libc::ENOSPC));
    environment.remove_file(Path::new("one/a")).expect("it is there");
    disk.write(6_000, &[1; 4_000]).expect("what was removed takes no room");
    // Nothing but two empty directories survives, or some of the files.
    environment.cut_power();
    let used: u64 =
        environment.file_names().iter().map(|path| environment.file_length(path).expect("there")).sum();
    let left = usize::try_from(10_000 - used.min(10_000)).expect("small");
    let mut disk = attach_to(environment, Path::new("d"), FileOptions::WRITE);
    disk.write(0, &vec![1; left]).expect("it is free");
    assert_eq!(disk.write(left as u64, &[1; 1]), Err(libc::ENOSPC));
}

#[test]
fn a_wiped_machine_is_empty_and_goes_on() {
    let environment = machine(1, &["one"]);
    leave(&environment, "one/f", b"x");
    let mut disk = attach_to(environment.clone(), Path::new("one/f"), FileOptions::WRITE);
    environment.set_capacity(100);
    environment.wipe();
    assert_eq!(environment.file_names(), Vec::<PathBuf>::new());
    ng_io::Driver::complete(&mut disk.driver, ng_io::Wait::Now, &mut Vec::new())
        .expect_err("the process is gone");
    let missing = environment.open_file(Path::new("one/f"), FileOptions::WRITE);
    assert!(missing.expect_err("no such directory").is_absent());
    let mut disk = attach_to(environment, Path::new("f"), FileOptions::WRITE);
    disk.write(0, &[1; 100]).expect("an empty disk");
    assert_eq!(disk.write(100, &[1]), Err(libc::ENOSPC));
}
