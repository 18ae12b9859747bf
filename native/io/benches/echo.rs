//! The round trip of 64 bytes through a bare echo on each backend: the floor under every request the server
//! answers.

#![allow(missing_docs)]

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use ng_io::probe::{RingSupport, probe_ring};
use ng_io::{
    Buffer, Driver, DriverLimits, Environment, Handle, Instant, Operation, Outcome, PosixEnvironment,
    ThreadSpec, Token, UringEnvironment, Wait,
};

const ACCEPT: Token = Token(0);
const ECHO: Token = Token(1);

fn echo(criterion: &mut Criterion) {
    round_trip(criterion, &PosixEnvironment);
    match probe_ring() {
        RingSupport::Available { .. } => round_trip(criterion, &UringEnvironment),
        RingSupport::Unavailable { reason } => eprintln!("uring is not present here: {reason}"),
    }
}

fn round_trip<E: Environment>(criterion: &mut Criterion, environment: &E) {
    let listener = environment.bind_stream((Ipv4Addr::LOCALHOST, 0).into(), 1).expect("a free port");
    let address = listener.local_address().expect("a bound address");
    let server = environment.clone();
    let spec = ThreadSpec { name: "echo".to_owned(), cpu: None };
    let body = move || {
        let limits = DriverLimits { operations_max: 4, handles_max: 4 };
        let mut driver = server.driver(limits).expect("the backend is there");
        let listener = driver.adopt_listener(listener).expect("room");
        driver.submit(ACCEPT, Operation::Accept { listener });
        serve(&mut driver);
    };
    let thread = environment.spawn(spec, Box::new(body)).expect("a thread");
    let mut client = TcpStream::connect(address).expect("somebody listens");
    client.set_nodelay(true).expect("a socket");
    let mut answer = [0; 64];
    criterion.bench_function(&format!("echo 64 B/{}", environment.name()), |bencher| {
        bencher.iter(|| {
            client.write_all(&[7; 64]).expect("the connection lives");
            client.read_exact(&mut answer).expect("the connection lives");
        });
    });
    drop(client);
    thread.join().expect("the server ends with its client");
}

/// Accepts one connection and echoes it to its end.
fn serve(driver: &mut impl Driver) {
    let mut completions = Vec::new();
    let mut socket: Option<Handle> = None;
    loop {
        driver.complete(Wait::Until(Instant::FAR_FUTURE), &mut completions).expect("the driver works");
        for completion in completions.drain(..) {
            let operation = match (completion.outcome, socket) {
                (Outcome::Accepted(accepted), _) => {
                    let adopted = driver.adopt_socket(accepted.expect("a connection").0).expect("room");
                    socket = Some(adopted);
                    Operation::Receive { socket: adopted, buffer: Buffer::with_capacity(4_096), wanted: 0 }
                }
                (Outcome::Received { buffer, result: Ok(1..) }, Some(socket)) => {
                    Operation::Send { socket, buffer }
                }
                (Outcome::Sent { mut buffer, result: Ok(()) }, Some(socket)) => {
                    buffer.clear();
                    Operation::Receive { socket, buffer, wanted: 0 }
                }
                _ => return,
            };
            driver.submit(ECHO, operation);
        }
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
        .sample_size(30);
    targets = echo
}
criterion_main!(benches);
