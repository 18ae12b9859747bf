//! What a request and its answer cost in system calls: counts, so that a change that adds one is seen.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;

use ng_io::{Buffer, Driver, DriverCounters, Environment, Handle, Operation, Outcome, Token, Wait};

use crate::rig::{PATIENCE, on_every_backend, rig};

on_every_backend!(a_ping_costs_a_known_number_of_calls, doing_nothing_costs_nothing);

const WARM_UP: u64 = 20;
const PINGS: u64 = 500;

/// Answers every piece with itself, as a shard would, and notes the counters at the first and the last ping
/// that count.
fn echo(driver: &mut impl Driver, socket: Handle) -> (DriverCounters, DriverCounters) {
    let mut marks = (DriverCounters::default(), DriverCounters::default());
    let mut pings = 0;
    let mut completions = Vec::new();
    let mut spare = Some(Buffer::with_capacity(256));
    driver.submit(Token(0), Operation::Receive { socket, buffer: Buffer::with_capacity(256), wanted: 0 });
    let deadline = driver.now() + PATIENCE;
    while pings < WARM_UP + PINGS {
        assert!(driver.now() < deadline, "the echo hangs");
        driver.complete(Wait::Until(deadline), &mut completions).expect("the driver works");
        for completion in completions.drain(..) {
            match completion.outcome {
                Outcome::Received { buffer, result } => {
                    assert_eq!(result, Ok(64));
                    pings += 1;
                    if pings == WARM_UP {
                        marks.0 = driver.counters();
                    }
                    marks.1 = driver.counters();
                    driver.submit(Token(1), Operation::Send { socket, buffer });
                    let buffer = spare.take().expect("the previous answer was sent");
                    driver.submit(Token(0), Operation::Receive { socket, buffer, wanted: 0 });
                }
                Outcome::Sent { mut buffer, result } => {
                    result.expect("the connection lives");
                    buffer.clear();
                    spare = Some(buffer);
                }
                other => panic!("nothing else was submitted: {other:?}"),
            }
        }
    }
    marks
}

fn ping(stream: &mut TcpStream) {
    let mut answer = [0; 64];
    for _ in 0..WARM_UP + PINGS - 1 {
        stream.write_all(&[7; 64]).expect("the connection lives");
        stream.read_exact(&mut answer).expect("the connection lives");
    }
    stream.write_all(&[7; 64]).expect("the connection lives");
}

fn a_ping_costs_a_known_number_of_calls<E: Environment>(environment: &E) {
    let mut rig = rig(environment);
    let (socket, mut far) = rig.connection();
    let peer = thread::spawn(move || ping(&mut far));
    let (first, last) = echo(&mut rig.driver, socket);
    peer.join().expect("every ping was answered");
    let calls = last.syscalls - first.syscalls;
    assert_eq!(last.operations - first.operations, 2 * PINGS);
    match environment.name() {
        // Wait, receive, send.
        "posix" => assert_eq!(calls, 3 * PINGS),
        // One call submits the answer and the next receive and comes back with the answer's completion, one
        // waits. If the next request is there by then, the second is saved.
        _ => assert!(calls <= 2 * PINGS, "{calls} calls for {PINGS} pings"),
    }
}

fn doing_nothing_costs_nothing<E: Environment>(environment: &E) {
    let mut rig = rig(environment);
    let sockets: Vec<_> = (0..100).map(|_| rig.connection()).collect();
    for (socket, _) in &sockets {
        rig.submit(Operation::Receive { socket: *socket, buffer: Buffer::with_capacity(64), wanted: 0 });
    }
    for _ in 0..10 {
        rig.poll();
    }
    let before = rig.driver.counters();
    let deadline = rig.driver.now() + std::time::Duration::from_millis(5);
    rig.driver.complete(Wait::Until(deadline), &mut Vec::new()).expect("the driver works");
    let after = rig.driver.counters();
    assert_eq!((after.syscalls - before.syscalls, after.completions), (1, 0));
}
