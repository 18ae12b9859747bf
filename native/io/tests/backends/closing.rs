//! Closing gives back every buffer, reaches the peer, and makes the handle worthless.

use std::io::{Read, Write};
use std::net::TcpStream;

use ng_io::{Buffer, Driver, Environment, FileOptions, Handle, Operation, Outcome};

use crate::rig::{PATIENCE, Scratch, on_every_backend, pattern, read, received, rig, sent, synced, written};

on_every_backend!(
    a_waiting_receive_comes_back_and_the_peer_sees_the_end,
    a_stuck_send_comes_back,
    a_waiting_accept_comes_back_and_nobody_is_let_in,
    closing_before_the_first_turn_cancels,
    a_stale_handle_never_reaches_its_successor,
    a_handle_of_another_kind_is_refused,
    a_closed_file_gives_every_buffer_back,
    dropping_a_driver_lets_go_of_everything,
);

fn a_waiting_receive_comes_back_and_the_peer_sees_the_end<E: Environment>(environment: &E) {
    let mut rig = rig(environment);
    let (socket, mut far) = rig.connection();
    let mut buffer = Buffer::with_capacity(1_024);
    buffer.extend_from_slice(b"kept");
    let token = rig.submit(Operation::Receive { socket, buffer, wanted: 0 });
    rig.assert_pending(token);
    rig.driver.close(socket);
    rig.driver.close(socket);
    let (buffer, result) = received(rig.outcome(token));
    assert!(result.expect_err("it was closed").is_cancelled());
    assert_eq!((&buffer[..], buffer.capacity()), (&b"kept"[..], 1_024));
    assert_eq!(far.read(&mut [0; 1]).expect("an orderly end"), 0);
}

fn a_stuck_send_comes_back<E: Environment>(environment: &E) {
    let mut rig = rig(environment);
    let (socket, _far) = rig.connection();
    let bytes = pattern(32 << 20);
    let token = rig.submit(Operation::Send { socket, buffer: Buffer::from(bytes.clone()) });
    rig.assert_pending(token);
    rig.driver.close(socket);
    let (buffer, result) = sent(rig.outcome(token));
    assert!(result.expect_err("it was closed").is_cancelled());
    assert!(buffer[..] == bytes[..]);
}

fn a_waiting_accept_comes_back_and_nobody_is_let_in<E: Environment>(environment: &E) {
    let mut rig = rig(environment);
    let (listener, address) = rig.listener(environment);
    let token = rig.submit(Operation::Accept { listener });
    rig.assert_pending(token);
    rig.driver.close(listener);
    let Outcome::Accepted(result) = rig.outcome(token) else { panic!("not of an accept") };
    assert!(result.expect_err("it was closed").is_cancelled());
    TcpStream::connect(address).expect_err("nobody listens any more");
    environment.bind_stream(address, 1).expect("the address is free again");
}

fn closing_before_the_first_turn_cancels<E: Environment>(environment: &E) {
    let mut rig = rig(environment);
    let (socket, _far) = rig.connection();
    let receive = rig.submit(Operation::Receive { socket, buffer: Buffer::with_capacity(8), wanted: 0 });
    let send = rig.submit(Operation::Send { socket, buffer: Buffer::from(vec![1; 32 << 20]) });
    rig.driver.close(socket);
    assert!(received(rig.outcome(receive)).1.expect_err("it was closed").is_cancelled());
    assert!(sent(rig.outcome(send)).1.expect_err("it was closed").is_cancelled());
}

fn assert_stale<E: Environment>(environment: &E, operations: impl Fn(Handle) -> Vec<Operation>) {
    let mut rig = rig(environment);
    let (stale, _far) = rig.connection();
    rig.driver.close(stale);
    let (fresh, mut far) = rig.connection();
    for operation in operations(stale) {
        let errno = match rig.run(operation) {
            Outcome::Accepted(result) => result.expect_err("stale").errno(),
            Outcome::Received { buffer, result } | Outcome::Read { buffer, result } => {
                assert_eq!(buffer.capacity(), 16, "the buffer comes back");
                result.expect_err("stale").errno()
            }
            Outcome::Sent { buffer, result } => {
                assert_eq!(&buffer[..], b"content", "the buffer comes back");
                result.expect_err("stale").errno()
            }
            Outcome::Written { buffer, result } => {
                assert_eq!(&buffer[..], b"content", "the buffer comes back");
                result.expect_err("stale").errno()
            }
            Outcome::Synced(result) => result.expect_err("stale").errno(),
            other => panic!("an operation without a handle: {other:?}"),
        };
        assert_eq!(errno, libc::EBADF);
    }
    assert_eq!(rig.driver.local_address(stale).expect_err("stale").errno(), libc::EBADF);
    rig.driver.finish_sending(stale);
    rig.driver.acknowledge_now(stale);
    rig.driver.close(stale);
    rig.send(fresh, b"untouched");
    let mut there = [0; 9];
    far.read_exact(&mut there).expect("the connection lives");
    assert_eq!(&there, b"untouched");
}

fn a_stale_handle_never_reaches_its_successor<E: Environment>(environment: &E) {
    let content = || Buffer::from(b"content".to_vec());
    let room = || Buffer::with_capacity(16);
    assert_stale(environment, |stale| {
        vec![
            Operation::Accept { listener: stale },
            Operation::Receive { socket: stale, buffer: room(), wanted: 0 },
            Operation::Send { socket: stale, buffer: content() },
            Operation::ReadAt { file: stale, buffer: room(), offset: 0 },
            Operation::WriteAt { file: stale, buffer: content().into(), offset: 0, sync: true },
            Operation::Sync { file: stale },
        ]
    });
}

fn a_handle_of_another_kind_is_refused<E: Environment>(environment: &E) {
    let scratch = Scratch::new(&format!("other-kind-{}", environment.name()));
    let mut rig = rig(environment);
    let (socket, _far) = rig.connection();
    let (listener, _) = rig.listener(environment);
    let file = environment.open_file(&scratch.file("f"), FileOptions::WRITE).expect("a new file");
    let file = rig.driver.adopt_file(file).expect("room");
    let Outcome::Accepted(accepted) = rig.run(Operation::Accept { listener: socket }) else {
        panic!("not of an accept")
    };
    assert_eq!(accepted.expect_err("not a listener").errno(), libc::EBADF);
    assert_eq!(rig.receive(listener, 8).1.expect_err("not a socket").errno(), libc::EBADF);
    assert_eq!(rig.receive(file, 8).1.expect_err("not a socket").errno(), libc::EBADF);
    let read_from_socket = Operation::ReadAt { file: socket, buffer: Buffer::with_capacity(8), offset: 0 };
    assert_eq!(read(rig.run(read_from_socket)).1.expect_err("not a file").errno(), libc::EBADF);
    assert_eq!(
        synced(rig.run(Operation::Sync { file: listener })).expect_err("not a file").errno(),
        libc::EBADF
    );
}

fn a_closed_file_gives_every_buffer_back<E: Environment>(environment: &E) {
    let scratch = Scratch::new(&format!("closed-file-{}", environment.name()));
    let mut rig = rig(environment);
    let file = environment.open_file(&scratch.file("f"), FileOptions::WRITE).expect("a new file");
    let file = rig.driver.adopt_file(file).expect("room");
    let tokens: Vec<_> = (0..64_u64)
        .map(|index| {
            let buffer = Buffer::from(vec![index.to_le_bytes()[0]; 4_096]);
            rig.submit(Operation::WriteAt { file, buffer: buffer.into(), offset: index * 4_096, sync: true })
        })
        .collect();
    rig.driver.close(file);
    for token in tokens {
        let (buffer, result) = written(rig.outcome(token));
        assert_eq!(buffer.len(), 4_096);
        assert!(result.expect_err("it was closed").is_cancelled());
    }
}

fn dropping_a_driver_lets_go_of_everything<E: Environment>(environment: &E) {
    let scratch = Scratch::new(&format!("dropped-{}", environment.name()));
    let mut rig = rig(environment);
    let (listener, address) = rig.listener(environment);
    rig.submit(Operation::Accept { listener });
    let mut peers = Vec::new();
    for _ in 0..50 {
        let (socket, far) = rig.connection();
        rig.submit(Operation::Receive { socket, buffer: Buffer::with_capacity(1_024), wanted: 0 });
        peers.push(far);
    }
    let (stuck, unread) = rig.connection();
    rig.submit(Operation::Send { socket: stuck, buffer: Buffer::from(vec![7; 32 << 20]) });
    let file = environment.open_file(&scratch.file("f"), FileOptions::WRITE).expect("a new file");
    let file = rig.driver.adopt_file(file).expect("room");
    for index in 0..20_u64 {
        let buffer = Buffer::from(vec![1; 65_536]);
        rig.submit(Operation::WriteAt { file, buffer: buffer.into(), offset: index * 65_536, sync: true });
    }
    rig.poll();
    // Not even submitted to the kernel when the driver goes.
    rig.submit(Operation::Sync { file });
    let waker = rig.driver.waker();
    drop(rig);
    waker.wake();
    for far in &mut peers {
        assert_eq!(far.read(&mut [0; 1]).expect("an orderly end"), 0);
    }
    TcpStream::connect(address).expect_err("nobody listens any more");
    assert_ends(unread);
}

/// Reads what had been sent up to the end; a reset is an end too.
fn assert_ends(mut stream: TcpStream) {
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
    let mut piece = vec![0; 1 << 20];
    loop {
        match stream.read(&mut piece) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) => {
                assert_eq!(error.raw_os_error(), Some(libc::ECONNRESET));
                break;
            }
        }
    }
    let _ = stream.write(b"x");
}
