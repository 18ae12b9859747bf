//! Streams and listeners: every byte in order, ends and errors told.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::Command;
use std::thread;
use std::time::Duration;

use ng_io::{Buffer, Driver, DriverLimits, Environment, Operation, Outcome, Socket};
use rustix::net::sockopt::{set_socket_linger, tcp_quickack};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::rig::{on_every_backend, pattern, received, rig, rig_with, sent, tcp_pair};

on_every_backend!(
    every_size_is_echoed,
    a_long_send_resumes_until_a_slow_reader_has_it_all,
    an_accepted_connection_knows_its_peer,
    connections_waiting_before_the_accept_are_all_taken,
    received_bytes_are_appended,
    so_many_bytes_are_waited_for_and_no_more_are_taken,
    what_came_before_the_end_is_given_though_more_was_wanted,
    the_last_bytes_come_before_the_end_of_the_stream,
    the_end_of_a_stream_ends_a_waiting_receive,
    a_reset_is_an_error,
    sending_to_a_peer_that_is_gone_is_an_error,
    finishing_sends_an_end_and_still_receives,
    an_acknowledgement_that_was_delayed_leaves_at_once,
    a_second_operation_in_the_same_direction_is_busy,
    a_receive_without_room_is_invalid,
    both_ends_in_one_driver_talk,
    a_socket_that_never_runs_dry_does_not_starve_another,
    a_full_table_refuses_the_next_descriptor,
    more_operations_than_agreed_break_the_contract,
    addresses_are_reported,
    an_address_in_use_is_named,
    without_descriptors_accept_fails_and_recovers,
);

fn every_size_is_echoed<E: Environment>(environment: &E) {
    let mut rig = rig(environment);
    let (socket, mut far) = rig.connection();
    for size in [1, 2, 100, 1_023, 4_096, 65_536, 1 << 20, (5 << 20) + 3] {
        let bytes = pattern(size);
        let expected = bytes.clone();
        let mut peer = far.try_clone().expect("a socket");
        let echo = thread::spawn(move || {
            peer.write_all(&bytes).expect("the connection lives");
        });
        let there = rig.receive_exactly(socket, size);
        echo.join().expect("the peer wrote");
        assert!(there == expected, "{size} bytes arrived changed");
        let mut peer = far.try_clone().expect("a socket");
        let collect = thread::spawn(move || {
            let mut back = vec![0; size];
            peer.read_exact(&mut back).expect("the connection lives");
            back
        });
        rig.send(socket, &there);
        assert!(collect.join().expect("the peer read") == expected, "{size} bytes came back changed");
    }
    far.shutdown(Shutdown::Both).expect("a socket");
    far.write_all(b"x").expect_err("it is shut");
}

fn a_long_send_resumes_until_a_slow_reader_has_it_all<E: Environment>(environment: &E) {
    let mut rig = rig(environment);
    let (socket, mut far) = rig.connection();
    let bytes = pattern(32 << 20);
    let token = rig.submit(Operation::Send { socket, buffer: Buffer::from(bytes.clone()) });
    rig.assert_pending(token);
    let reader = thread::spawn(move || {
        let mut all = Vec::new();
        let mut piece = vec![0; 50_000];
        while all.len() < 32 << 20 {
            let count = far.read(&mut piece).expect("the connection lives");
            all.extend_from_slice(&piece[..count]);
        }
        all
    });
    let (buffer, result) = sent(rig.outcome(token));
    result.expect("all of it was taken");
    assert!(buffer[..] == bytes[..]);
    assert!(reader.join().expect("the reader read") == bytes);
}

fn an_accepted_connection_knows_its_peer<E: Environment>(environment: &E) {
    let mut rig = rig(environment);
    let (listener, address) = rig.listener(environment);
    let token = rig.submit(Operation::Accept { listener });
    rig.assert_pending(token);
    let mut far = TcpStream::connect(address).expect("somebody listens");
    let Outcome::Accepted(accepted) = rig.outcome(token) else { panic!("not of an accept") };
    let (socket, peer) = accepted.expect("a connection");
    assert_eq!(peer, far.local_addr().expect("an address"));
    assert_eq!(socket.local_address().expect("an address"), address);
    let socket = rig.driver.adopt_socket(socket).expect("room");
    far.write_all(b"hello").expect("the connection lives");
    assert_eq!(rig.receive_exactly(socket, 5), b"hello");
}

fn connections_waiting_before_the_accept_are_all_taken<E: Environment>(environment: &E) {
    let mut rig = rig(environment);
    let (listener, address) = rig.listener(environment);
    let clients: Vec<_> = (0..20).map(|_| TcpStream::connect(address).expect("somebody listens")).collect();
    let mut peers: Vec<_> = (0..20)
        .map(|_| match rig.run(Operation::Accept { listener }) {
            Outcome::Accepted(accepted) => accepted.expect("a connection").1,
            other => panic!("not of an accept: {other:?}"),
        })
        .collect();
    let mut expected: Vec<_> =
        clients.iter().map(|client| client.local_addr().expect("an address")).collect();
    peers.sort_unstable();
    expected.sort_unstable();
    assert_eq!(peers, expected);
    let token = rig.submit(Operation::Accept { listener });
    rig.assert_pending(token);
}

fn received_bytes_are_appended<E: Environment>(environment: &E) {
    let mut rig = rig(environment);
    let (socket, mut far) = rig.connection();
    let mut buffer = Buffer::with_capacity(16);
    buffer.extend_from_slice(b"before ");
    far.write_all(b"after").expect("the connection lives");
    let (buffer, result) = received(rig.run(Operation::Receive { socket, buffer, wanted: 0 }));
    assert_eq!((result, &buffer[..], buffer.capacity()), (Ok(5), &b"before after"[..], 16));
}

fn so_many_bytes_are_waited_for_and_no_more_are_taken<E: Environment>(environment: &E) {
    let mut rig = rig(environment);
    let (socket, mut far) = rig.connection();
    let bytes = pattern(300_000);
    let buffer = Buffer::with_capacity(bytes.len());
    let token = rig.submit(Operation::Receive { socket, buffer, wanted: 200_000 });
    for piece in bytes[..199_999].chunks(50_000) {
        far.write_all(piece).expect("the connection lives");
        rig.assert_pending(token);
    }
    far.write_all(&bytes[199_999..]).expect("the connection lives");
    let (buffer, result) = received(rig.outcome(token));
    assert_eq!(result, Ok(200_000));
    assert!(buffer[..] == bytes[..200_000]);
    assert!(rig.receive_exactly(socket, 100_000) == bytes[200_000..]);
}

fn what_came_before_the_end_is_given_though_more_was_wanted<E: Environment>(environment: &E) {
    let mut rig = rig(environment);
    let (socket, mut far) = rig.connection();
    let token = rig.submit(Operation::Receive { socket, buffer: Buffer::with_capacity(64), wanted: 64 });
    far.write_all(b"0123456789").expect("the connection lives");
    rig.assert_pending(token);
    drop(far);
    let (buffer, result) = received(rig.outcome(token));
    assert_eq!((&buffer[..], result), (&b"0123456789"[..], Ok(10)));
    assert_eq!(rig.receive(socket, 4).1, Ok(0));
}

fn the_last_bytes_come_before_the_end_of_the_stream<E: Environment>(environment: &E) {
    let mut rig = rig(environment);
    let (socket, mut far) = rig.connection();
    far.write_all(b"0123456789").expect("the connection lives");
    drop(far);
    let pieces: Vec<_> = (0..5)
        .map(|_| {
            let (buffer, result) = rig.receive(socket, 4);
            (buffer.to_vec(), result)
        })
        .collect();
    let expected: [(&[u8], usize); 5] = [(b"0123", 4), (b"4567", 4), (b"89", 2), (b"", 0), (b"", 0)];
    let expected: Vec<_> = expected.iter().map(|(bytes, count)| (bytes.to_vec(), Ok(*count))).collect();
    assert_eq!(pieces, expected);
}

fn the_end_of_a_stream_ends_a_waiting_receive<E: Environment>(environment: &E) {
    let mut rig = rig(environment);
    let (socket, far) = rig.connection();
    let token = rig.submit(Operation::Receive { socket, buffer: Buffer::with_capacity(64), wanted: 0 });
    rig.assert_pending(token);
    drop(far);
    assert_eq!(received(rig.outcome(token)).1, Ok(0));
}

fn a_reset_is_an_error<E: Environment>(environment: &E) {
    let mut rig = rig(environment);
    let (socket, far) = rig.connection();
    let token = rig.submit(Operation::Receive { socket, buffer: Buffer::with_capacity(64), wanted: 0 });
    rig.assert_pending(token);
    set_socket_linger(&far, Some(Duration::ZERO)).expect("a socket");
    drop(far);
    let (buffer, result) = received(rig.outcome(token));
    assert_eq!(result.expect_err("the peer reset").errno(), libc::ECONNRESET);
    assert_eq!((buffer.len(), buffer.capacity()), (0, 64));
}

fn sending_to_a_peer_that_is_gone_is_an_error<E: Environment>(environment: &E) {
    let mut rig = rig(environment);
    let (socket, far) = rig.connection();
    set_socket_linger(&far, Some(Duration::ZERO)).expect("a socket");
    drop(far);
    let (buffer, result) = sent(rig.run(Operation::Send { socket, buffer: Buffer::from(vec![7; 100]) }));
    let error = result.expect_err("nobody is there");
    assert!(matches!(error.errno(), libc::EPIPE | libc::ECONNRESET), "{error}");
    assert_eq!(buffer.len(), 100);
}

fn finishing_sends_an_end_and_still_receives<E: Environment>(environment: &E) {
    let mut rig = rig(environment);
    let (socket, mut far) = rig.connection();
    rig.send(socket, b"the answer");
    rig.driver.finish_sending(socket);
    let mut all = Vec::new();
    far.read_to_end(&mut all).expect("the stream ends");
    assert_eq!(all, b"the answer");
    far.write_all(b"more").expect("the other direction is open");
    assert_eq!(rig.receive_exactly(socket, 4), b"more");
}

fn an_acknowledgement_that_was_delayed_leaves_at_once<E: Environment>(environment: &E) {
    let mut rig = rig(environment);
    let (near, mut far) = tcp_pair();
    let observer = near.try_clone().expect("a descriptor");
    let socket = rig.driver.adopt_socket(near.into()).expect("room for a socket");
    // A socket that answers what it receives delays its acknowledgements: they travel with the answers.
    for _ in 0..8 {
        far.write_all(b"ping").expect("a connection");
        assert_eq!(rig.receive_exactly(socket, 4), b"ping");
        rig.send(socket, b"pong");
        far.read_exact(&mut [0; 4]).expect("an answer");
    }
    assert!(!tcp_quickack(&observer).expect("a TCP socket"));
    rig.driver.acknowledge_now(socket);
    assert!(tcp_quickack(&observer).expect("a TCP socket"));
}

fn a_second_operation_in_the_same_direction_is_busy<E: Environment>(environment: &E) {
    let mut rig = rig(environment);
    let (socket, mut far) = rig.connection();
    let first = rig.submit(Operation::Receive { socket, buffer: Buffer::with_capacity(8), wanted: 0 });
    let (_, second) = rig.receive(socket, 8);
    assert_eq!(second.expect_err("one is waiting").errno(), libc::EBUSY);
    let stuck = rig.submit(Operation::Send { socket, buffer: Buffer::from(vec![1; 32 << 20]) });
    rig.assert_pending(stuck);
    let (_, second) = sent(rig.run(Operation::Send { socket, buffer: Buffer::from(vec![1; 8]) }));
    assert_eq!(second.expect_err("one is under way").errno(), libc::EBUSY);
    let (listener, _) = rig.listener(environment);
    let waiting = rig.submit(Operation::Accept { listener });
    let Outcome::Accepted(second) = rig.run(Operation::Accept { listener }) else {
        panic!("not of an accept")
    };
    assert_eq!(second.expect_err("one is waiting").errno(), libc::EBUSY);
    rig.assert_pending(waiting);
    far.write_all(b"for one").expect("the connection lives");
    assert_eq!(received(rig.outcome(first)).1, Ok(7));
}

fn a_receive_without_room_is_invalid<E: Environment>(environment: &E) {
    let mut rig = rig(environment);
    let (socket, _far) = rig.connection();
    let (_, result) = rig.receive(socket, 0);
    assert_eq!(result.expect_err("no byte fits").errno(), libc::EINVAL);
}

fn both_ends_in_one_driver_talk<E: Environment>(environment: &E) {
    let mut rig = rig(environment);
    let (near, far) = tcp_pair();
    let near = rig.driver.adopt_socket(Socket::from(near)).expect("room");
    let far = rig.driver.adopt_socket(Socket::from(far)).expect("room");
    let bytes = pattern(8 << 20);
    let sending = rig.submit(Operation::Send { socket: near, buffer: Buffer::from(bytes.clone()) });
    assert!(rig.receive_exactly(far, bytes.len()) == bytes);
    sent(rig.outcome(sending)).1.expect("all of it was taken");
}

fn a_socket_that_never_runs_dry_does_not_starve_another<E: Environment>(environment: &E) {
    let mut rig = rig(environment);
    let (busy, mut busy_far) = rig.connection();
    let (quiet, mut quiet_far) = rig.connection();
    busy_far.write_all(&pattern(1_000)).expect("the connection lives");
    rig.receive_exactly(busy, 1);
    let waiting =
        rig.submit(Operation::Receive { socket: quiet, buffer: Buffer::with_capacity(8), wanted: 0 });
    rig.assert_pending(waiting);
    quiet_far.write_all(b"me too").expect("the connection lives");
    let mut rounds = 0;
    while rig.take(waiting).is_none() {
        rounds += 1;
        assert!(rounds < 20, "nobody looked at the quiet socket in {rounds} rounds");
        let token =
            rig.submit(Operation::Receive { socket: busy, buffer: Buffer::with_capacity(1), wanted: 0 });
        assert_eq!(received(rig.outcome(token)).1, Ok(1));
    }
}

fn a_full_table_refuses_the_next_descriptor<E: Environment>(environment: &E) {
    let mut rig = rig_with(environment, DriverLimits { operations_max: 8, handles_max: 2 });
    let (first, _far) = rig.connection();
    let (_second, mut other) = rig.connection();
    let refused = rig.driver.adopt_socket(tcp_pair().0.into()).expect_err("two are all");
    assert!(refused.is_out_of_descriptors(), "{refused}");
    rig.driver.close(first);
    let (third, _far) = rig.connection();
    assert_ne!(first, third);
    other.write_all(b"x").expect("the second lives");
}

fn more_operations_than_agreed_break_the_contract<E: Environment>(environment: &E) {
    let mut rig = rig_with(environment, DriverLimits { operations_max: 2, handles_max: 8 });
    let ends = [rig.connection(), rig.connection(), rig.connection()];
    let attempt = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        for (socket, _) in &ends {
            rig.submit(Operation::Receive { socket: *socket, buffer: Buffer::with_capacity(1), wanted: 0 });
        }
    }));
    let message = attempt.expect_err("three are more than two");
    assert_eq!(message.downcast_ref(), Some(&"the caller bounds its operations by operations_max"));
}

fn addresses_are_reported<E: Environment>(environment: &E) {
    let mut rig = rig(environment);
    let (listener, address) = rig.listener(environment);
    assert_ne!(address.port(), 0);
    assert_eq!(rig.driver.local_address(listener), Ok(address));
    let (socket, far) = rig.connection();
    assert_eq!(rig.driver.local_address(socket), Ok(far.peer_addr().expect("an address")));
}

fn an_address_in_use_is_named<E: Environment>(environment: &E) {
    let mut rig = rig(environment);
    let (_listener, address) = rig.listener(environment);
    let error = environment.bind_stream(address, 1).expect_err("it is taken");
    assert!(error.is_address_in_use(), "{error}");
    assert_eq!(error.to_string(), "bind: Address already in use (EADDRINUSE)");
}

/// The limit belongs to the process, so the real test runs in a child of its own.
fn without_descriptors_accept_fails_and_recovers<E: Environment>(environment: &E) {
    const CHILD: &str = "NG_IO_TEST_WITHOUT_DESCRIPTORS";
    if std::env::var_os(CHILD).is_some() {
        run_out_of_descriptors(environment);
        return;
    }
    let test = format!("sockets::{}::without_descriptors_accept_fails_and_recovers", environment.name());
    let child = Command::new(std::env::current_exe().expect("the test's own program"))
        .args(["--exact", &test, "--nocapture"])
        .env(CHILD, "1")
        .output()
        .expect("the program starts");
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(
        child.status.success() && said.contains("1 passed"),
        "{said}{}",
        String::from_utf8_lossy(&child.stderr)
    );
}

fn run_out_of_descriptors<E: Environment>(environment: &E) {
    let mut rig = rig(environment);
    let (listener, address) = rig.listener(environment);
    let mut clients: Vec<_> =
        (0..3).map(|_| TcpStream::connect(address).expect("somebody listens")).collect();
    let before = getrlimit(Resource::Nofile);
    let mut spare = vec![clients[0].try_clone().expect("a descriptor")];
    let last = std::os::fd::AsRawFd::as_raw_fd(&spare[0]);
    let used_up = u64::try_from(last).expect("a descriptor") + 1;
    setrlimit(Resource::Nofile, Rlimit { current: Some(used_up), maximum: before.maximum })
        .expect("lower is allowed");
    while let Ok(copy) = clients[0].try_clone() {
        spare.push(copy);
    }
    for _ in 0..3 {
        let Outcome::Accepted(result) = rig.run(Operation::Accept { listener }) else {
            panic!("not of an accept")
        };
        let error = result.expect_err("no descriptor is left");
        assert!(error.is_out_of_descriptors(), "{error}");
        assert_eq!(error.to_string(), "accept: Too many open files (EMFILE)");
    }
    setrlimit(Resource::Nofile, before).expect("back to what it was");
    for client in &mut clients {
        let Outcome::Accepted(result) = rig.run(Operation::Accept { listener }) else {
            panic!("not of an accept")
        };
        let (socket, peer) = result.expect("descriptors are there again");
        assert_eq!(peer, client.local_addr().expect("an address"));
        let socket = rig.driver.adopt_socket(socket).expect("room");
        client.write_all(b"still here").expect("the connection lives");
        assert_eq!(rig.receive_exactly(socket, 10), b"still here");
    }
}
