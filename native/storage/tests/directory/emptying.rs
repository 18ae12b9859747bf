//! The trash: deleted file by file, whatever lies in it, and in spite of what cannot be deleted.

use std::path::PathBuf;
use std::time::Duration;

use ng_io::simulated::Faults;
use ng_io::{Environment, FileOptions, Instant, SimulatedEnvironment};
use ng_storage::home::Home;
use ng_storage::trash::{Emptied, Trash};

use crate::rig;

const NOW: Instant = Instant::from_nanos(5_000_000_000);

/// A founded directory with entries in its trash: how many files each has.
fn trash(environment: &SimulatedEnvironment, entries: &[usize]) -> Trash<SimulatedEnvironment> {
    rig::found(&rig::directory(environment), 1).expect("a good disk");
    for (number, files) in entries.iter().enumerate() {
        let entry = Home::new("data").trash().join(format!("{number:04}"));
        environment.make_directories(&entry).expect("a good disk");
        for file in 0..*files {
            let path = entry.join(format!("{file:020}.log"));
            environment.open_file(&path, FileOptions::WRITE).expect("a good disk");
        }
    }
    Trash::new(environment, &Home::new("data")).expect("a driver")
}

fn left(environment: &SimulatedEnvironment) -> Vec<PathBuf> {
    let names = environment.file_names();
    names.into_iter().filter(|name| name.starts_with("data/trash")).collect()
}

#[test]
fn every_file_and_directory_goes_one_by_one() {
    let environment = SimulatedEnvironment::new(1);
    let mut trash = trash(&environment, &[2, 0, 3]);
    environment.make_directories(&Home::new("data").trash().join("0001/deeper")).expect("a good disk");
    assert_eq!(trash.empty_some(NOW), Emptied::Nothing(None), "nobody has looked");
    trash.survey().expect("a good disk");
    // Five files, three directories, and the one below.
    for step in 0..9 {
        assert_eq!(trash.empty_some(NOW), Emptied::One, "step {step}");
    }
    assert_eq!(trash.empty_some(NOW), Emptied::Nothing(None));
    assert_eq!(environment.list_directory(&Home::new("data").trash()).expect("it is there").len(), 0);
}

#[test]
fn its_bytes_are_counted_until_they_are_gone() {
    let environment = SimulatedEnvironment::new(2);
    let mut trash = trash(&environment, &[1]);
    let shard = Home::new("data").shards().join("00000001-00000000");
    environment.rename(&shard, &Home::new("data").trash().join("shard-1-0")).expect("a good disk");
    trash.survey().expect("a good disk");
    let bytes: u64 = left(&environment).iter().filter_map(|name| environment.file_length(name).ok()).sum();
    assert!(bytes > 32 * 1024);
    assert_eq!(trash.bytes(), bytes);
    let mut before = bytes;
    while trash.empty_some(NOW) == Emptied::One {
        assert!(trash.bytes() <= before);
        before = trash.bytes();
    }
    assert_eq!((trash.bytes(), left(&environment).len()), (0, 0));
}

#[test]
fn what_cannot_be_deleted_is_tried_less_and_less_often_until_it_can() {
    let environment = SimulatedEnvironment::new(3);
    let mut trash = trash(&environment, &[1, 1]);
    trash.survey().expect("a good disk");
    environment.set_faults(Faults { removal_error: 1_000, ..Faults::default() });
    let mut now = NOW;
    let mut waits = Vec::new();
    for _ in 0..8 {
        // Both, one after the other.
        assert!(matches!(trash.empty_some(now), Emptied::Failed(_)));
        assert!(matches!(trash.empty_some(now), Emptied::Failed(_)));
        let Emptied::Nothing(Some(due)) = trash.empty_some(now) else { panic!("both wait") };
        waits.push((due - now).as_secs());
        now = due;
    }
    assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 64]);
    assert_eq!(trash.failing(), 2);
    trash.survey().expect("a good disk");
    assert_eq!(trash.failing(), 2, "a look changes nothing");
    environment.set_faults(Faults::default());
    for _ in 0..4 {
        assert_eq!(trash.empty_some(now), Emptied::One);
    }
    assert_eq!((trash.failing(), left(&environment).len()), (0, 0));
}

#[test]
fn an_entry_that_cannot_be_deleted_does_not_keep_the_others() {
    let environment = SimulatedEnvironment::new(4);
    let mut trash = trash(&environment, &[1, 1]);
    trash.survey().expect("a good disk");
    environment.set_faults(Faults { removal_error: 1_000, ..Faults::default() });
    assert!(matches!(trash.empty_some(NOW), Emptied::Failed(_)));
    environment.set_faults(Faults::default());
    assert_eq!((trash.empty_some(NOW), trash.empty_some(NOW)), (Emptied::One, Emptied::One));
    assert_eq!((trash.failing(), left(&environment).len()), (1, 1));
    assert_eq!(trash.empty_some(NOW + Duration::from_secs(1)), Emptied::One);
}
