//! Streams and listeners of a simulated machine: bytes in order, bounded, late, cut off, and the same for a seed.

use std::net::SocketAddr;

use ng_io::simulated::{Arrived, SimulatedDriver, SimulatedPeer, StreamWeather};
use ng_io::{
    Buffer, Completion, Driver, DriverLimits, Environment, Handle, Instant, Operation, Outcome,
    SimulatedEnvironment, Socket, Token, Wait,
};

const LIMITS: DriverLimits = DriverLimits { operations_max: 16, handles_max: 4 };
const ACCEPT: Token = Token(1);
const RECEIVE: Token = Token(2);
const SEND: Token = Token(3);

fn server() -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 1], 8090))
}

fn client(port: u16) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 2], port))
}

struct Rig {
    environment: SimulatedEnvironment,
    driver: SimulatedDriver,
    listener: Handle,
}

fn rig(seed: u64, weather: StreamWeather) -> Rig {
    let environment = SimulatedEnvironment::new(seed);
    environment.set_stream_weather(weather);
    process(environment)
}

/// The next process on a machine.
fn process(environment: SimulatedEnvironment) -> Rig {
    let mut driver = environment.driver(LIMITS).expect("a driver");
    let listener = environment.bind_stream(server(), 2).expect("a free address");
    let listener = driver.adopt_listener(listener).expect("room");
    Rig { environment, driver, listener }
}

impl Rig {
    fn connect(&self, port: u16) -> SimulatedPeer {
        self.environment.connect(client(port), server()).expect("somebody listens")
    }

    /// The next completion.
    fn next(&mut self) -> Completion {
        let mut done = Vec::new();
        while done.is_empty() {
            self.driver.complete(Wait::Until(Instant::FAR_FUTURE), &mut done).expect("something ends");
        }
        assert_eq!(done.len(), 1, "one operation is under way");
        done.remove(0)
    }

    fn assert_pending(&mut self) {
        let later = self.environment.now() + std::time::Duration::from_secs(1);
        let mut done = Vec::new();
        while self.environment.now() < later {
            self.driver.complete(Wait::Until(later), &mut done).expect("alive");
        }
        assert!(done.is_empty(), "{done:?}");
    }

    fn accept(&mut self) -> (Handle, SocketAddr) {
        self.driver.submit(ACCEPT, Operation::Accept { listener: self.listener });
        let Outcome::Accepted(accepted) = self.next().outcome else { panic!("not of an accept") };
        let (socket, peer) = accepted.expect("a connection");
        (self.driver.adopt_socket(socket).expect("room"), peer)
    }

    fn receive(&mut self, socket: Handle, room: usize, wanted: usize) -> Result<Vec<u8>, i32> {
        let buffer = Buffer::with_capacity(room);
        self.driver.submit(RECEIVE, Operation::Receive { socket, buffer, wanted });
        received(self.next())
    }

    fn send(&mut self, socket: Handle, bytes: &[u8]) -> Result<(), i32> {
        self.driver.submit(SEND, Operation::Send { socket, buffer: Buffer::from(bytes.to_vec()) });
        let Outcome::Sent { buffer, result } = self.next().outcome else { panic!("not of a send") };
        assert_eq!(&buffer[..], bytes);
        result.map_err(|error| error.errno())
    }

    /// Lets everything arrive that is under way.
    fn settle(&mut self) {
        let later = self.environment.now() + std::time::Duration::from_secs(1);
        while self.environment.now() < later {
            self.driver.complete(Wait::Until(later), &mut Vec::new()).expect("alive");
        }
    }
}

fn received(completion: Completion) -> Result<Vec<u8>, i32> {
    let Outcome::Received { buffer, result } = completion.outcome else { panic!("not of a receive") };
    assert!(result.is_err() || result == Ok(buffer.len()));
    result.map(|_| buffer.to_vec()).map_err(|error| error.errno())
}

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|place| (place * 7 + place / 251).to_le_bytes()[0]).collect()
}

#[test]
fn a_connection_knows_both_addresses_and_waits_to_be_accepted() {
    let mut rig = rig(1, StreamWeather::default());
    let peers = [rig.connect(5), rig.connect(6)];
    let refused = rig.environment.connect(client(7), server()).expect_err("the backlog is full");
    assert_eq!(refused.errno(), libc::ECONNREFUSED);
    let (socket, first) = rig.accept();
    assert_eq!((first, rig.accept().1), (client(5), client(6)));
    assert_eq!(rig.driver.local_address(socket), Ok(server()));
    rig.driver.submit(ACCEPT, Operation::Accept { listener: rig.listener });
    rig.assert_pending();
    drop(peers);
}

#[test]
fn an_address_belongs_to_one_listener_until_that_is_closed() {
    let mut rig = rig(2, StreamWeather::default());
    assert!(rig.environment.bind_stream(server(), 1).expect_err("taken").is_address_in_use());
    let waiting = rig.connect(5);
    rig.driver.submit(ACCEPT, Operation::Accept { listener: rig.listener });
    rig.driver.close(rig.listener);
    let Outcome::Accepted(Err(error)) = rig.next().outcome else { panic!("nobody was accepted") };
    assert!(error.is_cancelled());
    rig.settle();
    assert_eq!(waiting.receive(&mut Vec::new(), 1).expect_err("turned away").errno(), libc::ECONNRESET);
    rig.environment.connect(client(6), server()).expect_err("nobody listens");
    let any = rig.environment.bind_stream(SocketAddr::from(([10, 0, 0, 1], 0)), 1).expect("a free port");
    assert_ne!(any.local_address().expect("an address").port(), 0);
}

#[test]
fn bytes_arrive_in_order_whatever_the_pieces() {
    for (seed, piece_max) in [(3, 1), (4, 7), (5, 100_000)] {
        let weather = StreamWeather { piece_max, buffer_bytes: 1_000, ..StreamWeather::default() };
        let mut rig = rig(seed, weather);
        let peer = rig.connect(5);
        let (socket, _) = rig.accept();
        let bytes = pattern(10_000);
        let (mut sent, mut there) = (0, Vec::new());
        while there.len() < bytes.len() {
            sent += peer.send(&bytes[sent..]).expect("connected");
            there.extend(rig.receive(socket, 700, 0).expect("connected"));
        }
        assert!(there == bytes, "pieces of {piece_max}");
    }
}

#[test]
fn so_many_bytes_are_waited_for_and_no_more_are_taken() {
    let weather = StreamWeather { buffer_bytes: 60, piece_max: 9, ..StreamWeather::default() };
    let mut rig = rig(6, weather);
    let peer = rig.connect(5);
    let (socket, _) = rig.accept();
    let bytes = pattern(150);
    rig.driver
        .submit(RECEIVE, Operation::Receive { socket, buffer: Buffer::with_capacity(200), wanted: 100 });
    let mut sent = peer.send(&bytes[..99]).expect("connected");
    rig.assert_pending();
    sent += peer.send(&bytes[sent..99]).expect("connected");
    rig.assert_pending();
    assert_eq!(sent, 99);
    peer.send(&bytes[99..]).expect("connected");
    let completion = rig.next();
    assert_eq!(received(completion), Ok(bytes[..100].to_vec()));
    assert_eq!(rig.receive(socket, 200, 50), Ok(bytes[100..].to_vec()));
}

#[test]
fn a_send_waits_for_a_slow_reader() {
    let mut rig = rig(7, StreamWeather { buffer_bytes: 64, ..StreamWeather::default() });
    let peer = rig.connect(5);
    let (socket, _) = rig.accept();
    let bytes = pattern(200);
    rig.driver.submit(SEND, Operation::Send { socket, buffer: Buffer::from(bytes.clone()) });
    rig.assert_pending();
    assert_eq!(rig.driver.acknowledged(socket), Some(64));
    let mut there = Vec::new();
    while there.len() < 136 {
        assert!(matches!(peer.receive(&mut there, 64), Ok(Arrived::Bytes(_))));
        rig.settle();
    }
    let mut there_too = there.clone();
    assert!(matches!(peer.receive(&mut there_too, 1_000), Ok(Arrived::Bytes(_))));
    assert_eq!(there_too, bytes);
}

#[test]
fn the_last_bytes_come_before_the_end_and_the_other_direction_stays_open() {
    let mut rig = rig(8, StreamWeather { piece_max: 1, ..StreamWeather::default() });
    let peer = rig.connect(5);
    let (socket, _) = rig.accept();
    peer.send(b"0123456789").expect("connected");
    peer.finish_sending();
    assert_eq!(peer.send(b"more").expect_err("it said that it was all").errno(), libc::EPIPE);
    assert_eq!(rig.receive(socket, 64, 64), Ok(b"0123456789".to_vec()));
    assert_eq!(rig.receive(socket, 64, 0), Ok(Vec::new()));
    assert_eq!(rig.send(socket, b"the answer"), Ok(()));
    rig.driver.finish_sending(socket);
    rig.settle();
    let mut there = Vec::new();
    while peer.receive(&mut there, 3) == Ok(Arrived::Bytes(1)) || there.len() < 10 {}
    assert_eq!(there, b"the answer");
    assert_eq!(peer.receive(&mut there, 3), Ok(Arrived::End));
}

#[test]
fn a_reset_gives_what_came_before_it_and_then_an_error() {
    let mut rig = rig(9, StreamWeather::default());
    let peer = rig.connect(5);
    let (socket, _) = rig.accept();
    rig.driver.submit(RECEIVE, Operation::Receive { socket, buffer: Buffer::with_capacity(64), wanted: 64 });
    peer.send(b"half").expect("connected");
    rig.assert_pending();
    peer.reset();
    let completion = rig.next();
    assert_eq!(received(completion), Ok(b"half".to_vec()));
    assert_eq!(rig.receive(socket, 64, 0), Err(libc::ECONNRESET));
    assert_eq!(rig.send(socket, b"x"), Err(libc::ECONNRESET));
}

#[test]
fn closing_a_socket_whose_peer_was_not_heard_breaks_it_off() {
    let mut rig = rig(10, StreamWeather::default());
    for heard in [true, false] {
        let peer = rig.connect(5);
        let (socket, _) = rig.accept();
        peer.send(b"question").expect("connected");
        if heard {
            assert_eq!(rig.receive(socket, 8, 8), Ok(b"question".to_vec()));
        }
        rig.driver.close(socket);
        rig.settle();
        let end = peer.receive(&mut Vec::new(), 1).map_err(|error| error.errno());
        assert_eq!(end, if heard { Ok(Arrived::End) } else { Err(libc::ECONNRESET) });
    }
}

#[test]
fn a_closed_socket_gives_its_operations_back() {
    let mut rig = rig(11, StreamWeather::default());
    let _peer = rig.connect(5);
    let (socket, _) = rig.accept();
    let receive = |socket| Operation::Receive { socket, buffer: Buffer::with_capacity(8), wanted: 0 };
    rig.driver.submit(RECEIVE, receive(socket));
    rig.driver.submit(SEND, receive(socket));
    assert_eq!(received(rig.next()), Err(libc::EBUSY));
    rig.driver.close(socket);
    assert_eq!(received(rig.next()), Err(libc::ECANCELED));
    rig.driver.submit(RECEIVE, receive(socket));
    assert_eq!(received(rig.next()), Err(libc::EBADF));
}

#[test]
fn a_dead_process_leaves_its_peers_with_an_error_and_its_address_free() {
    let mut rig = rig(12, StreamWeather::default());
    let peer = rig.connect(5);
    let (socket, _) = rig.accept();
    rig.driver.submit(RECEIVE, Operation::Receive { socket, buffer: Buffer::with_capacity(8), wanted: 0 });
    rig.environment.kill();
    let dead = rig.driver.complete(Wait::Now, &mut Vec::new()).expect_err("its process is gone");
    assert_eq!(dead.errno(), libc::ESRCH);
    let mut next = process(rig.environment.clone());
    next.settle();
    assert_eq!(peer.send(b"x").expect_err("gone").errno(), libc::ECONNRESET);
    drop((rig.driver, peer));
    let _peer = next.connect(6);
    assert_eq!(next.accept().1, client(6));
}

#[test]
fn sockets_of_the_kernel_and_of_a_simulation_do_not_mix() {
    let mut rig = rig(13, StreamWeather::default());
    let (near, _far) = std::os::unix::net::UnixStream::pair().expect("a pair");
    assert_eq!(rig.driver.adopt_socket(Socket::from(near)).expect_err("of the kernel").errno(), libc::EBADF);
    let listener = rig.environment.bind_stream(client(1), 1).expect("a free address");
    let mut kernel = ng_io::PosixEnvironment.driver(LIMITS).expect("a driver");
    assert_eq!(kernel.adopt_listener(listener).expect_err("of a simulation").errno(), libc::EBADF);
}

#[test]
fn a_wake_ends_a_wait_and_can_be_seen_before() {
    let mut rig = rig(14, StreamWeather::default());
    assert!(!rig.driver.is_woken());
    rig.driver.waker().wake();
    assert!(rig.driver.is_woken());
    rig.driver.complete(Wait::Until(Instant::FAR_FUTURE), &mut Vec::new()).expect("woken");
    assert!(!rig.driver.is_woken());
}

#[test]
fn a_seed_is_one_history() {
    let run = |seed| {
        let mut rig = rig(seed, StreamWeather { piece_max: 5, ..StreamWeather::default() });
        let peer = rig.connect(5);
        let (socket, _) = rig.accept();
        for round in 0..20 {
            peer.send(&pattern(100)).expect("connected");
            rig.receive(socket, 200, 1 + round % 7).expect("connected");
            rig.send(socket, &pattern(50)).expect("room");
        }
        (rig.environment.trace(), rig.environment.now())
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}
