//! A driver in its steady state allocates nothing.

#![allow(missing_docs)]
#![allow(clippy::panic, reason = "a test fails by panicking, whichever function finds the fault")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use ng_io::{
    Buffer, Driver, DriverLimits, Environment, Operation, Outcome, PosixEnvironment, Socket, Token,
    UringEnvironment, Wait,
};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, counting what each thread asks of it.
struct Counting;

// SAFETY: every call goes to the system's allocator unchanged; counting touches a plain thread-local only.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller keeps the contract of this very function.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) };
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: as above.
        unsafe { System.realloc(block, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const WARM_UP: usize = 50;
const PINGS: usize = 1_000;
const PING: [u8; 64] = [7; 64];

#[test]
fn a_steady_echo_allocates_nothing_on_posix() {
    assert_eq!(allocations_of_echo(&PosixEnvironment), 0);
}

#[test]
fn a_steady_echo_allocates_nothing_on_uring() {
    assert_eq!(allocations_of_echo(&UringEnvironment), 0);
}

/// How often the driver's thread allocates during the pings after the warm-up.
fn allocations_of_echo(environment: &impl Environment) -> u64 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let address = listener.local_addr().expect("a bound address");
    let peer = thread::spawn(move || ping(TcpStream::connect(address).expect("somebody listens")));
    let near = Socket::from(listener.accept().expect("the peer connects").0);
    let mut driver =
        environment.driver(DriverLimits { operations_max: 8, handles_max: 8 }).expect("a driver");
    let socket = driver.adopt_socket(near).expect("room");
    driver.submit(Token(0), Operation::Receive { socket, buffer: Buffer::with_capacity(256), wanted: 0 });
    let (mut completions, mut pings, mut before) = (Vec::with_capacity(8), 0, 0);
    let deadline = driver.now() + Duration::from_secs(60);
    while pings < WARM_UP + PINGS {
        assert!(driver.now() < deadline, "the echo hangs");
        driver.complete(Wait::Until(deadline), &mut completions).expect("the driver works");
        for completion in completions.drain(..) {
            match completion.outcome {
                Outcome::Received { buffer, result } => {
                    assert_eq!(result, Ok(PING.len()));
                    pings += 1;
                    if pings == WARM_UP {
                        before = ALLOCATIONS.get();
                    }
                    driver.submit(Token(1), Operation::Send { socket, buffer });
                }
                Outcome::Sent { mut buffer, result } => {
                    result.expect("the connection lives");
                    buffer.clear();
                    driver.submit(Token(0), Operation::Receive { socket, buffer, wanted: 0 });
                }
                other => panic!("nothing else was submitted: {other:?}"),
            }
        }
    }
    let after = ALLOCATIONS.get();
    drop(driver);
    peer.join().expect("every ping was answered");
    after - before
}

fn ping(mut stream: TcpStream) {
    let mut answer = PING;
    for _ in 0..WARM_UP + PINGS - 1 {
        stream.write_all(&PING).expect("the connection lives");
        stream.read_exact(&mut answer).expect("the connection lives");
    }
    stream.write_all(&PING).expect("the connection lives");
}
