//! Names: opened, made, changed and removed by operations and by their blocking twins, which agree.

use std::path::Path;

use ng_io::{Buffer, Driver, DriverLimits, Environment, FileOptions, Handle, IoError, Operation, Outcome};
use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::rig::{Rig, Scratch, on_every_backend, read, rig, rig_with, synced, written};

on_every_backend!(
    what_was_opened_by_an_operation_works_like_any_file,
    an_open_tells_what_is_wrong,
    a_full_table_keeps_no_descriptor,
    a_lock_taken_by_an_operation_is_held_until_the_close,
    an_open_that_takes_long_stops_nobody,
    an_open_that_nobody_waits_for_any_more_holds_nothing,
    a_directory_is_made_once_and_below_another_one,
    a_rename_replaces_what_had_the_name,
    a_file_stays_while_it_has_a_name,
    a_removal_takes_files_and_empty_directories,
    a_directory_can_be_synced_and_nothing_else,
    the_blocking_twins_do_the_same,
);

mod simulated {
    use ng_io::SimulatedEnvironment;

    macro_rules! here {
        ($($test:ident),* $(,)?) => {
            $(#[test] fn $test() { super::$test(&SimulatedEnvironment::new(7)); })*
        };
    }

    here!(
        what_was_opened_by_an_operation_works_like_any_file,
        an_open_tells_what_is_wrong,
        a_full_table_keeps_no_descriptor,
        a_lock_taken_by_an_operation_is_held_until_the_close,
        an_open_that_nobody_waits_for_any_more_holds_nothing,
        a_directory_is_made_once_and_below_another_one,
        a_rename_replaces_what_had_the_name,
        a_file_stays_while_it_has_a_name,
        a_removal_takes_files_and_empty_directories,
        a_directory_can_be_synced_and_nothing_else,
        the_blocking_twins_do_the_same,
    );
}

const LOCKED: FileOptions = FileOptions { lock: true, ..FileOptions::WRITE };

/// A directory that the environment knows, too.
fn scratch<E: Environment>(environment: &E, test: &str) -> Scratch {
    let scratch = Scratch::new(&format!("names-{test}-{}", environment.name()));
    environment.make_directories(scratch.path()).expect("room on the disk");
    scratch
}

impl<D: Driver> Rig<D> {
    fn open(&mut self, path: &Path, options: FileOptions) -> Result<Handle, IoError> {
        match self.run(Operation::Open { path: path.to_owned(), options }) {
            Outcome::Opened(result) => result,
            other => panic!("not of an open: {other:?}"),
        }
    }

    fn name(&mut self, operation: Operation) -> Result<(), i32> {
        match self.run(operation) {
            Outcome::Named(result) => result.map_err(|error| error.errno()),
            other => panic!("not of a name: {other:?}"),
        }
    }

    fn make_directory(&mut self, path: &Path) -> Result<(), i32> {
        self.name(Operation::MakeDirectory { path: path.to_owned() })
    }

    fn rename(&mut self, from: &Path, to: &Path) -> Result<(), i32> {
        self.name(Operation::Rename { from: from.to_owned(), to: to.to_owned() })
    }

    fn link(&mut self, from: &Path, to: &Path) -> Result<(), i32> {
        self.name(Operation::Link { from: from.to_owned(), to: to.to_owned() })
    }

    fn remove(&mut self, path: &Path) -> Result<(), i32> {
        self.name(Operation::Remove { path: path.to_owned() })
    }

    /// A new file with this content, closed again.
    fn leave(&mut self, path: &Path, content: &[u8]) {
        let file = self.open(path, FileOptions::WRITE).expect("room on the disk");
        let buffer = Buffer::from(content.to_vec());
        written(self.run(Operation::WriteAt { file, buffer: buffer.into(), offset: 0, sync: true }))
            .1
            .expect("a healthy disk");
        self.driver.close(file);
    }

    fn content(&mut self, path: &Path) -> Vec<u8> {
        let file = self.open(path, FileOptions::READ).expect("it is there");
        let wanted = Operation::ReadAt { file, buffer: Buffer::with_capacity(100), offset: 0 };
        let (buffer, result) = read(self.run(wanted));
        result.expect("a healthy disk");
        self.driver.close(file);
        buffer.to_vec()
    }
}

fn what_was_opened_by_an_operation_works_like_any_file<E: Environment>(environment: &E) {
    let scratch = scratch(environment, "open");
    let mut rig = rig(environment);
    rig.leave(&scratch.file("f"), b"content");
    assert_eq!(rig.content(&scratch.file("f")), b"content");
    assert_eq!(environment.file_length(&scratch.file("f")), Ok(7));
    let reader = rig.open(&scratch.file("f"), FileOptions::READ).expect("it is there");
    let write =
        Operation::WriteAt { file: reader, buffer: Buffer::from(vec![1]).into(), offset: 0, sync: false };
    assert_eq!(written(rig.run(write)).1.expect_err("it is for reading").errno(), libc::EBADF);
    rig.driver.close(reader);
    assert_eq!(synced(rig.run(Operation::Sync { file: reader })).expect_err("closed").errno(), libc::EBADF);
}

fn an_open_tells_what_is_wrong<E: Environment>(environment: &E) {
    let scratch = scratch(environment, "refused");
    let mut rig = rig(environment);
    rig.leave(&scratch.file("f"), b"x");
    let exclusive = FileOptions { exclusive: true, ..FileOptions::WRITE };
    let writable = FileOptions { create: false, ..FileOptions::WRITE };
    for (path, options, errno) in [
        (scratch.file("missing"), FileOptions::READ, libc::ENOENT),
        (scratch.file("missing/f"), FileOptions::WRITE, libc::ENOENT),
        (scratch.file("f/below"), FileOptions::WRITE, libc::ENOTDIR),
        (scratch.file("f"), exclusive, libc::EEXIST),
        (scratch.file("f"), FileOptions::DIRECTORY, libc::ENOTDIR),
        (scratch.path().to_owned(), writable, libc::EISDIR),
        (scratch.file("not\0a name"), FileOptions::WRITE, libc::EINVAL),
    ] {
        let refused = rig.open(&path, options).expect_err("it cannot be");
        assert_eq!((refused.operation(), refused.errno()), ("open", errno), "{path:?}");
    }
    assert_eq!(environment.list_directory(scratch.path()).expect("the directory"), ["f"]);
}

fn a_full_table_keeps_no_descriptor<E: Environment>(environment: &E) {
    let scratch = scratch(environment, "full");
    let mut rig = rig_with(environment, DriverLimits { operations_max: 8, handles_max: 1 });
    let first = rig.open(&scratch.file("first"), FileOptions::WRITE).expect("room");
    assert!(rig.open(&scratch.file("f"), LOCKED).expect_err("no room").is_out_of_descriptors());
    rig.driver.close(first);
    rig.open(&scratch.file("f"), LOCKED).expect("nobody holds it");
}

fn a_lock_taken_by_an_operation_is_held_until_the_close<E: Environment>(environment: &E) {
    let scratch = scratch(environment, "lock");
    let mut rig = rig(environment);
    let holder = rig.open(&scratch.file("f"), LOCKED).expect("nobody holds it");
    assert!(rig.open(&scratch.file("f"), LOCKED).expect_err("somebody holds it").is_held());
    assert!(environment.open_file(&scratch.file("f"), LOCKED).expect_err("somebody holds it").is_held());
    rig.open(&scratch.file("f"), FileOptions::READ).expect("a reader does not ask for the lock");
    rig.driver.close(holder);
    rig.open(&scratch.file("f"), LOCKED).expect("nothing was under way");
}

/// A pipe without a writer opens only once there is one; the ring does not even wait for that.
fn an_open_that_takes_long_stops_nobody<E: Environment>(environment: &E) {
    let scratch = scratch(environment, "fifo");
    let pipe = scratch.file("pipe");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a new name");
    let mut rig = rig(environment);
    let token = rig.submit(Operation::Open { path: pipe.clone(), options: FileOptions::READ });
    rig.leave(&scratch.file("f"), b"meanwhile");
    if environment.name() == "posix" {
        rig.assert_pending(token);
    }
    let _writer = std::fs::OpenOptions::new().write(true).open(&pipe).expect("a reader is waiting");
    let Outcome::Opened(result) = rig.outcome(token) else { panic!("not of an open") };
    result.expect("a writer came");
}

fn an_open_that_nobody_waits_for_any_more_holds_nothing<E: Environment>(environment: &E) {
    let scratch = scratch(environment, "dropped");
    for polls in 0..3 {
        let mut rig = rig(environment);
        rig.submit(Operation::Open { path: scratch.file("f"), options: LOCKED });
        (0..polls).for_each(|_| rig.poll());
        drop(rig);
        environment.open_file(&scratch.file("f"), LOCKED).expect("nobody holds it");
    }
}

fn a_directory_is_made_once_and_below_another_one<E: Environment>(environment: &E) {
    let scratch = scratch(environment, "directory");
    let mut rig = rig(environment);
    assert_eq!(rig.make_directory(&scratch.file("a/b")), Err(libc::ENOENT));
    assert_eq!(rig.make_directory(&scratch.file("a")), Ok(()));
    assert_eq!(rig.make_directory(&scratch.file("a")), Ok(()), "it is there already");
    assert_eq!(rig.make_directory(&scratch.file("a/b")), Ok(()));
    rig.leave(&scratch.file("a/b/f"), b"x");
    assert_eq!(rig.make_directory(&scratch.file("a/b/f/c")), Err(libc::ENOTDIR));
    assert_eq!(environment.list_directory(&scratch.file("a")).expect("the directory"), ["b"]);
}

fn a_rename_replaces_what_had_the_name<E: Environment>(environment: &E) {
    let scratch = scratch(environment, "rename");
    let mut rig = rig(environment);
    let (old, new) = (scratch.file("old"), scratch.file("new"));
    rig.leave(&old, b"old");
    rig.leave(&new, b"new");
    assert_eq!(rig.rename(&new, &old), Ok(()));
    assert_eq!(rig.content(&old), b"new");
    assert_eq!(rig.rename(&new, &old), Err(libc::ENOENT));
    assert_eq!(rig.rename(&old, &old), Ok(()));
    for directory in ["from", "from/full", "to", "to/full", "empty"] {
        rig.make_directory(&scratch.file(directory)).expect("a new name");
    }
    rig.leave(&scratch.file("from/full/f"), b"x");
    rig.leave(&scratch.file("to/full/f"), b"x");
    assert_eq!(rig.rename(&scratch.file("from/full"), &scratch.file("to/full")), Err(libc::ENOTEMPTY));
    assert_eq!(rig.rename(&old, &scratch.file("empty")), Err(libc::EISDIR));
    assert_eq!(rig.rename(&scratch.file("empty"), &old), Err(libc::ENOTDIR));
    assert_eq!(rig.rename(&scratch.file("from"), &scratch.file("from/full/in")), Err(libc::EINVAL));
    assert_eq!(rig.rename(&scratch.file("from/full"), &scratch.file("empty")), Ok(()));
    assert_eq!(rig.content(&scratch.file("empty/f")), b"x");
    assert_eq!(
        environment.list_directory(scratch.path()),
        Ok(["empty", "from", "old", "to"].map(String::from).to_vec())
    );
}

fn a_file_stays_while_it_has_a_name<E: Environment>(environment: &E) {
    let scratch = scratch(environment, "link");
    let mut rig = rig(environment);
    let (first, second) = (scratch.file("first"), scratch.file("d/second"));
    rig.make_directory(&scratch.file("d")).expect("a new name");
    rig.leave(&first, b"content");
    assert_eq!(rig.link(&first, &second), Ok(()));
    assert_eq!(rig.link(&first, &second), Err(libc::EEXIST));
    assert_eq!(rig.link(&scratch.file("missing"), &scratch.file("d/third")), Err(libc::ENOENT));
    assert_eq!(rig.link(&first, &scratch.file("nowhere/third")), Err(libc::ENOENT));
    assert_eq!(rig.link(&scratch.file("d"), &scratch.file("e")), Err(libc::EPERM));
    assert_eq!(rig.remove(&first), Ok(()));
    assert_eq!(rig.content(&second), b"content");
    rig.leave(&first, b"another file of that name");
    assert_eq!(rig.content(&second), b"content");
    assert_eq!(rig.remove(&second), Ok(()));
    assert_eq!(environment.list_directory(&scratch.file("d")), Ok(Vec::new()));
}

fn a_removal_takes_files_and_empty_directories<E: Environment>(environment: &E) {
    let scratch = scratch(environment, "remove");
    let mut rig = rig(environment);
    rig.make_directory(&scratch.file("d")).expect("a new name");
    rig.leave(&scratch.file("d/f"), b"x");
    assert_eq!(rig.remove(&scratch.file("d")), Err(libc::ENOTEMPTY));
    assert_eq!(rig.remove(&scratch.file("d/f")), Ok(()));
    assert_eq!(rig.remove(&scratch.file("d/f")), Ok(()), "it is absent already");
    assert_eq!(rig.remove(&scratch.file("missing/f")), Ok(()), "with all that it was in");
    assert_eq!(rig.remove(&scratch.file("d")), Ok(()));
    assert_eq!(environment.list_directory(scratch.path()), Ok(Vec::new()));
}

fn a_directory_can_be_synced_and_nothing_else<E: Environment>(environment: &E) {
    let scratch = scratch(environment, "sync");
    let mut rig = rig(environment);
    rig.leave(&scratch.file("f"), b"x");
    let directory = rig.open(scratch.path(), FileOptions::DIRECTORY).expect("it is there");
    synced(rig.run(Operation::Sync { file: directory })).expect("a healthy disk");
    let wanted = Operation::ReadAt { file: directory, buffer: Buffer::with_capacity(10), offset: 0 };
    assert_eq!(read(rig.run(wanted)).1.expect_err("names are not bytes").errno(), libc::EISDIR);
    let write =
        Operation::WriteAt { file: directory, buffer: Buffer::from(vec![1]).into(), offset: 0, sync: false };
    assert_eq!(written(rig.run(write)).1.expect_err("names are not bytes").errno(), libc::EBADF);
}

fn the_blocking_twins_do_the_same<E: Environment>(environment: &E) {
    let scratch = scratch(environment, "twins");
    let mut rig = rig(environment);
    let deep = scratch.file("a/b/c");
    for _ in 0..2 {
        environment.make_directories(&deep).expect("what is there already is as good");
    }
    for name in ["2", "10", "1"] {
        rig.leave(&deep.join(name), name.as_bytes());
    }
    environment.rename(&deep.join("2"), &deep.join("20")).expect("it is there");
    for _ in 0..2 {
        environment.remove_file(&deep.join("1")).expect("what is absent already is as good");
    }
    assert_eq!(environment.list_directory(&deep), Ok(vec!["10".to_owned(), "20".to_owned()]));
    assert_eq!(environment.file_length(&deep.join("20")), Ok(1));
    environment.sync_directory(&deep).expect("a healthy disk");
    let errno = |result: Result<(), IoError>| result.expect_err("it cannot be").errno();
    assert_eq!(errno(environment.remove_file(&deep)), libc::EISDIR);
    assert_eq!(errno(environment.sync_directory(&scratch.file("missing"))), libc::ENOENT);
    assert_eq!(errno(environment.sync_directory(&deep.join("20"))), libc::ENOTDIR);
    assert_eq!(errno(environment.rename(&deep.join("2"), &deep.join("3"))), libc::ENOENT);
    assert_eq!(errno(environment.file_length(&scratch.file("missing")).map(drop)), libc::ENOENT);
    assert_eq!(errno(environment.list_directory(&scratch.file("missing")).map(drop)), libc::ENOENT);
}
