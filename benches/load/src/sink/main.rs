//! The null sink: reads requests and forgets them, and answers sends and polls with canned bytes. What the wire and the
//! client cost by themselves.
//!
//! `ng-null-sink BACKEND CPU MESSAGES BYTES` serves on a free port, which it prints, until its standard input ends. A
//! poll gets so many messages of so many bytes. It stands on the same driver as a node.

mod answers;
mod connection;
mod serving;

use std::error::Error;
use std::io::{self, Read, Write};
use std::net::Ipv4Addr;

use ng_io::{Environment, PosixEnvironment, ThreadSpec, UringEnvironment};

use answers::Answers;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let backend = arguments.next().ok_or("which backend?")?;
    let cpu = arguments.next().ok_or("which CPU?")?.parse()?;
    let messages = arguments.next().ok_or("how many messages?")?.parse()?;
    let bytes = arguments.next().ok_or("of how many bytes?")?.parse()?;
    let answers = Answers::new(messages, bytes);
    match backend.as_str() {
        "posix" => serve_until_told(&PosixEnvironment, cpu, answers),
        "uring" => serve_until_told(&UringEnvironment, cpu, answers),
        other => Err(format!("no backend is called {other}").into()),
    }
}

fn serve_until_told<E: Environment>(
    environment: &E,
    cpu: usize,
    answers: Answers,
) -> Result<(), Box<dyn Error>> {
    let listener = environment.bind_stream((Ipv4Addr::LOCALHOST, 0).into(), 4096)?;
    let address = listener.local_address()?;
    let there = environment.clone();
    let thread = ThreadSpec { name: "sink".to_owned(), cpu: Some(cpu) };
    environment.spawn(thread, Box::new(move || serving::serve(&there, listener, answers)))?;
    writeln!(io::stdout(), "{address}")?;
    io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}
