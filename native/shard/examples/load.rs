//! Sends the same request to servers repeatedly, in turns, and reports its latency and their CPU time.
//!
//! ```text
//! load kept|fresh CONNECTIONS BLOCKS ROUNDS HELLO PING TARGET...
//! ```
//!
//! A round writes the frame in the file PING on every connection, then reads every answer, which must have
//! the length of the frame. `kept` opens the connections once and begins each with the frame in HELLO, whose
//! answer contains its own length; `fresh` opens them in every round and closes them after their answer.
//!
//! Each target, `ADDRESS/PID`, has ROUNDS rounds in each block, and BLOCKS blocks alternate between the
//! targets. A first block warms up and is not counted. The result is a line of JSON per target: the 50th and
//! 99th percentile of the rounds, the time of all blocks, and the CPU time that the process spent in them, in
//! nanoseconds.

use std::error::Error;
use std::fs;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Position of the length in a frame's header.
const SIZE_AT: usize = 48;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [mode, connections, blocks, rounds, hello, ping, targets @ ..] = arguments.as_slice() else {
        return Err("load kept|fresh CONNECTIONS BLOCKS ROUNDS HELLO PING TARGET...".into());
    };
    let load = Load { rounds: rounds.parse()?, connections: connections.parse()?, ping: fs::read(ping)? };
    let hello = fs::read(hello)?;
    let mut targets = targets.iter().map(|target| Target::parse(target)).collect::<Outcome<Vec<_>>>()?;
    if mode == "kept" {
        for target in &mut targets {
            target.open(load.connections, &hello)?;
        }
    }
    for block in 0..=blocks.parse::<usize>()? {
        for target in &mut targets {
            target.block(&load, block > 0)?;
        }
    }
    for target in &mut targets {
        writeln!(io::stdout(), "{}", target.report())?;
    }
    Ok(())
}

/// Parameters of a block.
struct Load {
    rounds: usize,
    connections: usize,
    ping: Vec<u8>,
}

/// One server and its measurements.
struct Target {
    address: SocketAddr,
    tasks: PathBuf,
    kept: Vec<TcpStream>,
    round_nanos: Vec<u64>,
    elapsed: Duration,
    cpu_nanos: u64,
}

impl Target {
    fn parse(text: &str) -> Outcome<Self> {
        let (address, pid) = text.split_once('/').ok_or("a target is ADDRESS/PID")?;
        Ok(Self {
            address: address.parse()?,
            tasks: PathBuf::from(format!("/proc/{}/task", pid.parse::<u32>()?)),
            kept: Vec::new(),
            round_nanos: Vec::new(),
            elapsed: Duration::ZERO,
            cpu_nanos: 0,
        })
    }

    fn open(&mut self, connections: usize, hello: &[u8]) -> Outcome<()> {
        for _ in 0..connections {
            let mut stream = connect(self.address)?;
            stream.write_all(hello)?;
            let mut header = [0; 256];
            stream.read_exact(&mut header)?;
            let size = u32::from_le_bytes(*header[SIZE_AT..].first_chunk().expect("a header is longer"));
            let rest =
                usize::try_from(size)?.checked_sub(header.len()).ok_or("an answer without a header")?;
            stream.read_exact(&mut vec![0; rest])?;
            self.kept.push(stream);
        }
        Ok(())
    }

    fn block(&mut self, load: &Load, counts: bool) -> Outcome<()> {
        let (cpu, began) = (self.cpu()?, Instant::now());
        let mut answer = vec![0; load.ping.len()];
        let mut nanos = Vec::with_capacity(load.rounds);
        for _ in 0..load.rounds {
            let began = Instant::now();
            if self.kept.is_empty() {
                let mut fresh =
                    (0..load.connections).map(|_| connect(self.address)).collect::<io::Result<Vec<_>>>()?;
                round(&mut fresh, &load.ping, &mut answer)?;
            } else {
                round(&mut self.kept, &load.ping, &mut answer)?;
            }
            nanos.push(u64::try_from(began.elapsed().as_nanos())?);
        }
        if counts {
            self.elapsed += began.elapsed();
            self.cpu_nanos += self.cpu()? - cpu;
            self.round_nanos.append(&mut nanos);
        }
        Ok(())
    }

    /// CPU time of the threads of the process.
    fn cpu(&self) -> Outcome<u64> {
        let mut nanos = 0;
        for task in fs::read_dir(&self.tasks)? {
            let text = fs::read_to_string(task?.path().join("schedstat"))?;
            nanos += text.split_whitespace().next().ok_or("an empty schedstat")?.parse::<u64>()?;
        }
        Ok(nanos)
    }

    fn report(&mut self) -> String {
        self.round_nanos.sort_unstable();
        let rank = |percent: usize| self.round_nanos[(self.round_nanos.len() - 1) * percent / 100];
        format!(
            r#"{{"p50_ns":{},"p99_ns":{},"rounds":{},"elapsed_ns":{},"cpu_ns":{}}}"#,
            rank(50),
            rank(99),
            self.round_nanos.len(),
            self.elapsed.as_nanos(),
            self.cpu_nanos
        )
    }
}

fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn round(streams: &mut [TcpStream], ping: &[u8], answer: &mut [u8]) -> io::Result<()> {
    for stream in &mut *streams {
        stream.write_all(ping)?;
    }
    streams.iter_mut().try_for_each(|stream| stream.read_exact(answer))
}
