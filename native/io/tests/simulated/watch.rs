//! An onlooker sees the changes of a disk, and a fuse strikes at the one it was set for.

use std::path::Path;

use ng_io::simulated::ChangeKind::{Names, Sync, SyncedWrite, Write};
use ng_io::simulated::{ChangeKind, Fuse};
use ng_io::{Driver, Environment, FileOptions, Instant, Operation, SimulatedEnvironment, Token, Wait};

use crate::rig::{Disk, attach, disk};

const EIO: i32 = 5;

fn changes(environment: &SimulatedEnvironment) -> Vec<(String, ChangeKind)> {
    let changes = environment.take_changes().into_iter();
    changes.map(|change| (change.path.display().to_string(), change.kind)).collect()
}

#[test]
fn changes_are_seen_in_their_order_and_reads_are_none() {
    let environment = SimulatedEnvironment::new(1);
    environment.watch();
    let mut disk = attach(environment.clone());
    disk.write(0, &[1; 4096]).expect("a good disk");
    disk.sync().expect("a good disk");
    disk.read(0, 4096).expect("a good disk");
    disk.run(disk.write_operation(0, &[2; 4096], true));
    environment.rename(Path::new("file"), Path::new("other")).expect("it is there");
    environment.sync_directory(Path::new(".")).expect("a good disk");
    let file = |kind| ("file".to_owned(), kind);
    let seen = changes(&environment);
    assert_eq!(seen[..4], [file(Names), file(Write), file(Sync), file(SyncedWrite)]);
    assert_eq!(seen[4..], [("other".to_owned(), Names), (".".to_owned(), Sync)]);
    assert_eq!(changes(&environment), [], "each is seen once");
}

#[test]
fn what_failed_is_no_change() {
    let environment = SimulatedEnvironment::new(1);
    let mut disk = attach(environment.clone());
    environment.watch();
    environment.set_capacity(0);
    disk.write(0, &[1; 4096]).expect_err("no room");
    assert_eq!(changes(&environment), []);
}

#[test]
fn the_write_or_sync_after_so_many_changes_fails_and_no_other() {
    let mut disk = disk(1);
    disk.environment.set_fuse(Some(Fuse::Operation(2)));
    disk.write(0, &[1; 4096]).expect("the first change");
    disk.sync().expect("the second change");
    disk.environment.rename(Path::new("file"), Path::new("file")).expect("names do not fail");
    assert_eq!(disk.sync(), Err(EIO));
    disk.sync().expect("once");
    disk.environment.set_fuse(Some(Fuse::Operation(0)));
    assert_eq!(disk.write(0, &[2; 4096]), Err(EIO));
    disk.environment.set_fuse(Some(Fuse::Operation(0)));
    disk.environment.kill();
    let mut next = attach(disk.environment.clone());
    next.write(0, &[3; 4096]).expect("the fuse was that of the process before");
}

/// The process gets nothing done after the change that ends it, until the next one begins.
#[test]
fn a_process_ends_at_a_change() {
    let Disk { environment, mut driver, file, .. } = disk(1);
    environment.watch();
    environment.set_fuse(Some(Fuse::Process(2)));
    environment.rename(Path::new("file"), Path::new("first")).expect("the process lives");
    assert!(!environment.has_ended());
    environment.rename(Path::new("first"), Path::new("second")).expect("it happened");
    assert!(environment.has_ended());
    environment.rename(Path::new("second"), Path::new("third")).expect_err("nobody asks");
    environment.open_file(Path::new("fourth"), FileOptions::WRITE).expect_err("nobody asks");
    environment.remove_file(Path::new("second")).expect_err("nobody asks");
    driver.submit(Token(1), Operation::Sync { file });
    let waited = driver.complete(Wait::Until(Instant::FAR_FUTURE), &mut Vec::new());
    waited.expect_err("nobody waits");
    assert_eq!(environment.file_names(), [Path::new("second")]);
    environment.kill();
    assert!(!environment.has_ended());
    environment.rename(Path::new("second"), Path::new("file")).expect("the next process");
    assert_eq!(attach(environment).content(), []);
}
