//! Files: what was written is read, what failed is told, whichever way the bytes went.

use std::fs;

use ng_io::buffer::PAGE;
use ng_io::probe::{DirectIo, check_directory};
use ng_io::{Buffer, Driver, Environment, FileOptions, Handle, Operation};

use crate::rig::{Rig, Scratch, on_every_backend, pattern, read, rig, synced, written};

on_every_backend!(
    written_and_synced_bytes_are_read_back,
    a_read_ends_with_the_file,
    long_transfers_are_whole,
    many_operations_at_once_all_finish,
    more_operations_than_any_queue_holds_all_finish,
    files_in_memory_are_not_waited_for,
    direct_transfers_bypass_the_cache,
    a_full_disk_is_an_error_even_with_a_sync,
    a_file_opened_for_reading_cannot_be_written,
    impossible_positions_are_refused,
    opening_tells_what_is_wrong,
    a_locked_file_is_held_until_it_is_closed,
    a_directory_is_checked_and_left_clean,
);

/// What needs no file that somebody else made.
mod simulated {
    use ng_io::{Environment, SimulatedEnvironment};

    #[test]
    fn long_transfers_are_whole() {
        let environment = SimulatedEnvironment::new(1);
        environment.make_directories(super::scratch(&environment, "long").path()).expect("an empty disk");
        super::long_transfers_are_whole(&environment);
    }
}

fn open<E: Environment>(
    environment: &E,
    rig: &mut Rig<E::Driver>,
    path: &std::path::Path,
    options: FileOptions,
) -> Handle {
    let file = environment.open_file(path, options).expect("the file opens");
    rig.driver.adopt_file(file).expect("room")
}

fn scratch<E: Environment>(environment: &E, test: &str) -> Scratch {
    Scratch::new(&format!("{test}-{}", environment.name()))
}

fn written_and_synced_bytes_are_read_back<E: Environment>(environment: &E) {
    let scratch = scratch(environment, "round-trip");
    let mut rig = rig(environment);
    let file = open(environment, &mut rig, &scratch.file("f"), FileOptions::WRITE);
    for (offset, sync) in [(0, false), (5_000, true), (123, true)] {
        let bytes = pattern(777);
        let write = Operation::WriteAt { file, buffer: Buffer::from(bytes.clone()).into(), offset, sync };
        let (buffer, result) = written(rig.run(write));
        result.expect("room on the disk");
        assert_eq!(&buffer[..], &bytes[..]);
        synced(rig.run(Operation::Sync { file })).expect("a healthy disk");
        let (back, result) =
            read(rig.run(Operation::ReadAt { file, buffer: Buffer::with_capacity(777), offset }));
        assert_eq!((result, &back[..]), (Ok(777), &bytes[..]));
    }
    assert_eq!(fs::metadata(scratch.file("f")).expect("the file").len(), 5_777);
}

fn a_read_ends_with_the_file<E: Environment>(environment: &E) {
    let scratch = scratch(environment, "file-end");
    fs::write(scratch.file("f"), b"0123456789").expect("room on the disk");
    let mut rig = rig(environment);
    let file = open(environment, &mut rig, &scratch.file("f"), FileOptions::READ);
    let mut buffer = Buffer::with_capacity(100);
    buffer.extend_from_slice(b"got: ");
    let (buffer, result) = read(rig.run(Operation::ReadAt { file, buffer, offset: 4 }));
    assert_eq!((result, &buffer[..]), (Ok(6), &b"got: 456789"[..]));
    let beyond = Operation::ReadAt { file, buffer: Buffer::with_capacity(100), offset: 10_000 };
    assert_eq!(read(rig.run(beyond)).1, Ok(0));
}

fn long_transfers_are_whole<E: Environment>(environment: &E) {
    let scratch = scratch(environment, "long");
    let mut rig = rig(environment);
    let file = open(environment, &mut rig, &scratch.file("f"), FileOptions::WRITE);
    let bytes = pattern((16 << 20) + 5);
    let write =
        Operation::WriteAt { file, buffer: Buffer::from(bytes.clone()).into(), offset: 3, sync: true };
    written(rig.run(write)).1.expect("room on the disk");
    let wanted = Operation::ReadAt { file, buffer: Buffer::with_capacity(bytes.len()), offset: 3 };
    let (back, result) = read(rig.run(wanted));
    assert_eq!(result, Ok(bytes.len()));
    assert!(back[..] == bytes[..]);
}

fn many_operations_at_once_all_finish<E: Environment>(environment: &E) {
    const BLOCKS: usize = 200;
    let scratch = scratch(environment, "many");
    let mut rig = rig(environment);
    let file = open(environment, &mut rig, &scratch.file("f"), FileOptions::WRITE);
    let expected = pattern(BLOCKS * 512);
    let tokens: Vec<_> = expected
        .chunks(512)
        .enumerate()
        .map(|(index, block)| {
            let buffer = Buffer::from(block.to_vec());
            rig.submit(Operation::WriteAt {
                file,
                buffer: buffer.into(),
                offset: index as u64 * 512,
                sync: index % 3 == 0,
            })
        })
        .collect();
    for token in tokens {
        written(rig.outcome(token)).1.expect("room on the disk");
    }
    assert!(fs::read(scratch.file("f")).expect("the file") == expected);
}

fn more_operations_than_any_queue_holds_all_finish<E: Environment>(environment: &E) {
    const OPERATIONS: usize = 10_000;
    let scratch = scratch(environment, "overflow");
    fs::write(scratch.file("f"), b"x").expect("room on the disk");
    let mut rig = rig(environment);
    let file = open(environment, &mut rig, &scratch.file("f"), FileOptions::READ);
    let tokens: Vec<_> = (0..OPERATIONS)
        .map(|_| rig.submit(Operation::ReadAt { file, buffer: Buffer::with_capacity(1), offset: 0 }))
        .collect();
    for token in tokens {
        let (buffer, result) = read(rig.outcome(token));
        assert_eq!((result, &buffer[..]), (Ok(1), &b"x"[..]));
    }
    let counters = rig.driver.counters();
    assert_eq!((counters.operations, counters.completions), (OPERATIONS as u64, OPERATIONS as u64));
    assert_eq!(counters.overflows > 0, environment.name() == "uring");
}

fn files_in_memory_are_not_waited_for<E: Environment>(environment: &E) {
    let scratch = Scratch::in_memory(&format!("memory-{}", environment.name()));
    let mut rig = rig(environment);
    let file = open(environment, &mut rig, &scratch.file("f"), FileOptions::WRITE);
    let short = pattern(777);
    let write = rig.submit(Operation::WriteAt {
        file,
        buffer: Buffer::from(short.clone()).into(),
        offset: 5,
        sync: true,
    });
    let wanted = rig.submit(Operation::ReadAt { file, buffer: Buffer::with_capacity(777), offset: 5 });
    let sync = rig.submit(Operation::Sync { file });
    rig.poll();
    written(rig.take(write).expect("it was only a copy")).1.expect("room in memory");
    let (back, result) = read(rig.take(wanted).expect("it was only a copy"));
    assert_eq!((result, &back[..]), (Ok(777), &short[..]));
    synced(rig.take(sync).expect("there is nothing to wait for")).expect("memory cannot fail");

    // What would keep the others waiting is somebody else's to copy.
    let long = pattern((2 << 20) + 5);
    let write = Operation::WriteAt { file, buffer: Buffer::from(long.clone()).into(), offset: 0, sync: true };
    written(rig.run(write)).1.expect("room in memory");
    let wanted = Operation::ReadAt { file, buffer: Buffer::with_capacity(long.len()), offset: 0 };
    assert!(read(rig.run(wanted)).0[..] == long[..]);
}

fn direct_transfers_bypass_the_cache<E: Environment>(environment: &E) {
    let scratch = scratch(environment, "direct");
    if check_directory(environment, scratch.path()) == Ok(DirectIo::Refused) {
        eprintln!("the build's file system refuses direct I/O: only the refusal was seen");
        return;
    }
    let mut rig = rig(environment);
    let options = FileOptions { direct: true, ..FileOptions::WRITE };
    let file = open(environment, &mut rig, &scratch.file("f"), options);
    let bytes = pattern(16 * PAGE);
    let mut buffer = Buffer::aligned(bytes.len());
    buffer.extend_from_slice(&bytes);
    let write = Operation::WriteAt { file, buffer: buffer.into(), offset: PAGE as u64, sync: true };
    let (mut buffer, result) = written(rig.run(write));
    result.expect("room on the disk");
    buffer.clear();
    let (back, result) = read(rig.run(Operation::ReadAt { file, buffer, offset: PAGE as u64 }));
    assert_eq!(result, Ok(bytes.len()));
    assert!(back[..] == bytes[..]);

    let mut unaligned = Buffer::with_capacity(100);
    unaligned.extend_from_slice(&[1; 100]);
    let refused =
        written(rig.run(Operation::WriteAt { file, buffer: unaligned.into(), offset: 0, sync: false })).1;
    assert_eq!(refused.expect_err("not a page").errno(), libc::EINVAL);

    // A direct read that meets the end of the file inside a page stops there, although there is room for
    // more.
    fs::OpenOptions::new()
        .write(true)
        .open(scratch.file("f"))
        .expect("the file")
        .set_len(PAGE as u64 + 700)
        .expect("a cut");
    let (tail, result) =
        read(rig.run(Operation::ReadAt { file, buffer: Buffer::aligned(4 * PAGE), offset: 0 }));
    assert_eq!((result, tail.len()), (Ok(PAGE + 700), PAGE + 700));
}

fn a_full_disk_is_an_error_even_with_a_sync<E: Environment>(environment: &E) {
    let mut rig = rig(environment);
    let options = FileOptions { create: false, ..FileOptions::WRITE };
    let file = open(environment, &mut rig, "/dev/full".as_ref(), options);
    for sync in [false, true] {
        let write = Operation::WriteAt { file, buffer: Buffer::from(vec![1; 5_000]).into(), offset: 0, sync };
        let (buffer, result) = written(rig.run(write));
        let error = result.expect_err("it is always full");
        assert_eq!(
            (error.to_string().as_str(), buffer.len()),
            ("write: No space left on device (ENOSPC)", 5_000)
        );
    }
}

fn a_file_opened_for_reading_cannot_be_written<E: Environment>(environment: &E) {
    let scratch = scratch(environment, "read-only");
    fs::write(scratch.file("f"), b"untouched").expect("room on the disk");
    let mut rig = rig(environment);
    let file = open(environment, &mut rig, &scratch.file("f"), FileOptions::READ);
    let write = Operation::WriteAt { file, buffer: Buffer::from(vec![1; 8]).into(), offset: 0, sync: true };
    assert_eq!(written(rig.run(write)).1.expect_err("it is for reading").errno(), libc::EBADF);
    assert_eq!(fs::read(scratch.file("f")).expect("the file"), b"untouched");
}

fn impossible_positions_are_refused<E: Environment>(environment: &E) {
    let scratch = scratch(environment, "positions");
    let mut rig = rig(environment);
    let file = open(environment, &mut rig, &scratch.file("f"), FileOptions::WRITE);
    for offset in [u64::MAX, u64::MAX - 8, i64::MAX as u64] {
        let write = Operation::WriteAt { file, buffer: Buffer::from(vec![1; 8]).into(), offset, sync: false };
        assert_eq!(written(rig.run(write)).1.expect_err("no file is that long").errno(), libc::EINVAL);
        let wanted = Operation::ReadAt { file, buffer: Buffer::with_capacity(8), offset };
        assert_eq!(read(rig.run(wanted)).1.expect_err("no file is that long").errno(), libc::EINVAL);
    }
    assert_eq!(fs::metadata(scratch.file("f")).expect("the file").len(), 0);
}

fn opening_tells_what_is_wrong<E: Environment>(environment: &E) {
    let scratch = scratch(environment, "opening");
    let missing =
        environment.open_file(&scratch.file("missing"), FileOptions::READ).expect_err("it is missing");
    assert_eq!(missing.to_string(), "open: No such file or directory (ENOENT)");
    let exclusive = FileOptions { exclusive: true, ..FileOptions::WRITE };
    environment.open_file(&scratch.file("new"), exclusive).expect("it is new");
    let again = environment.open_file(&scratch.file("new"), exclusive).expect_err("it is there now");
    assert_eq!(again.errno(), libc::EEXIST);
}

fn a_locked_file_is_held_until_it_is_closed<E: Environment>(environment: &E) {
    let scratch = scratch(environment, "lock");
    let mut rig = rig(environment);
    let options = FileOptions { lock: true, ..FileOptions::WRITE };
    let holder = open(environment, &mut rig, &scratch.file("f"), options);
    let refused = environment.open_file(&scratch.file("f"), options).expect_err("somebody holds it");
    assert!(refused.is_held(), "{refused}");
    environment.open_file(&scratch.file("f"), FileOptions::READ).expect("a reader does not ask for the lock");
    rig.driver.close(holder);
    let deadline = rig.driver.now() + crate::rig::PATIENCE;
    while environment.open_file(&scratch.file("f"), options).is_err_and(|error| error.is_held()) {
        assert!(rig.driver.now() < deadline, "the lock outlives its descriptor");
        rig.poll();
    }
}

fn a_directory_is_checked_and_left_clean<E: Environment>(environment: &E) {
    let scratch = scratch(environment, "check");
    check_directory(environment, scratch.path()).expect("a healthy directory");
    assert_eq!(fs::read_dir(scratch.path()).expect("the directory").count(), 0);
    let missing = check_directory(environment, &scratch.file("missing")).expect_err("no such directory");
    assert_eq!(missing.errno(), libc::ENOENT);
    // A kernel file system takes no new file from anybody, root included.
    let refused = check_directory(environment, "/proc".as_ref()).expect_err("not a place for files");
    assert!(refused.is_permission() || refused.errno() == libc::ENOENT, "{refused}");
}
