//! Counts what the shard thread of a whole node allocates while a logged-in client pings: a line of JSON for each backend.
//!
//! `ping_allocations` runs the node in this process, because only here its allocator can be watched. Python's part of the
//! login is played by the main thread; from then on nothing of a ping ever leaves the shard.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::error::Error;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ng_control::record::Record;
use ng_control::settings::Settings;
use ng_io::probe::{RingSupport, probe_ring};
use ng_io::{
    Driver, DriverLimits, Environment, FileOptions, IoError, JoinHandle, Listener, PosixEnvironment,
    ThreadSpec, UringEnvironment, WallMicros,
};
use ng_shard::node;
use ng_shard::port::Port;
use ng_wire::table::record::{FromPython, ToPython};
use ng_wire::table::setting::sample_lines;

const WARM_UP: u32 = 1_000;
const PINGS: u32 = 10_000;

/// Rounds of so many pings. The least of them counts: a ping that allocates does so in each, and what the server does by
/// itself now and then, such as a manifest or a further journal file, falls into some of them only.
const ROUNDS: u32 = 5;
const PATIENCE: Duration = Duration::from_secs(60);
const HEADER_BYTES: usize = 256;

/// Frames as a client sends them, in hexadecimal.
const REGISTER: &str = include_str!("../../../tests/golden/wire/register_password_request.hex");
const PING: &str = include_str!("../../../tests/golden/wire/ping_request.hex");

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static WATCHED: Cell<bool> = const { Cell::new(false) };
}

/// The system's allocator, counting what watched threads ask of it.
struct Counting;

fn count() {
    if WATCHED.get() {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    }
}

// SAFETY: every call goes to the system's allocator unchanged; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of this very function.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) };
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as above.
        unsafe { System.realloc(block, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// An environment whose shard threads are watched.
#[derive(Clone)]
struct Watched<E>(E);

impl<E: Environment> Environment for Watched<E> {
    type Driver = E::Driver;

    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn now(&self) -> ng_io::Instant {
        self.0.now()
    }

    fn wall(&self) -> WallMicros {
        self.0.wall()
    }

    fn random(&self, into: &mut [u8]) -> Result<(), IoError> {
        self.0.random(into)
    }

    fn driver(&self, limits: DriverLimits) -> Result<Self::Driver, IoError> {
        self.0.driver(limits)
    }

    fn spawn(&self, thread: ThreadSpec, body: Box<dyn FnOnce() + Send>) -> Result<JoinHandle, IoError> {
        let is_shard = thread.name.starts_with("shard-");
        let watched = move || {
            WATCHED.set(is_shard);
            body();
        };
        self.0.spawn(thread, Box::new(watched))
    }

    fn bind_stream(&self, address: SocketAddr, backlog: u32) -> Result<Listener, IoError> {
        self.0.bind_stream(address, backlog)
    }

    fn open_file(
        &self,
        path: &Path,
        options: FileOptions,
    ) -> Result<<Self::Driver as Driver>::File, IoError> {
        self.0.open_file(path, options)
    }

    fn make_directories(&self, path: &Path) -> Result<(), IoError> {
        self.0.make_directories(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), IoError> {
        self.0.rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> Result<(), IoError> {
        self.0.remove_file(path)
    }

    fn sync_directory(&self, path: &Path) -> Result<(), IoError> {
        self.0.sync_directory(path)
    }

    fn list_directory(&self, path: &Path) -> Result<Vec<String>, IoError> {
        self.0.list_directory(path)
    }

    fn file_length(&self, path: &Path) -> Result<u64, IoError> {
        self.0.file_length(path)
    }
}

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    report(&Watched(PosixEnvironment))?;
    if let RingSupport::Available { .. } = probe_ring() {
        report(&Watched(UringEnvironment))?;
    }
    std::fs::remove_dir_all(data_directory())?;
    Ok(())
}

fn report<E: Environment>(environment: &Watched<E>) -> Outcome<()> {
    let allocations = allocations_of_pings(environment)?;
    let backend = environment.name();
    writeln!(io::stdout(), r#"{{"backend":"{backend}","pings":{PINGS},"allocations":{allocations}}}"#)?;
    Ok(())
}

fn allocations_of_pings<E: Environment>(environment: &E) -> Outcome<u64> {
    let listener = environment.bind_stream((Ipv4Addr::LOCALHOST, 0).into(), 16)?;
    let (node, mut port) = node::open(environment, settings(), listener)?;
    let shared = port.node.clone();
    node::start(environment, node)?;
    next_record(&mut port, ToPython::Started)?;
    submit(&mut port, &Record { kind: FromPython::OpenDoors.code(), shard: 0, token: 0, body: &[] });
    let mut client = TcpStream::connect(shared.facts.tcp)?;
    client.set_nodelay(true)?;
    client.write_all(&bytes(REGISTER)?)?;
    let token = next_record(&mut port, ToPython::Login)?;
    // Accepted, as user 0.
    submit(&mut port, &Record { kind: FromPython::LoginVerdict.code(), shard: 0, token, body: &[0; 5] });
    read_answer(&mut client)?;
    let ping = bytes(PING)?;
    for _ in 0..WARM_UP {
        exchange(&mut client, &ping)?;
    }
    if ALLOCATIONS.load(Ordering::Relaxed) == 0 {
        return Err("no thread was watched: a shard allocates at its start".into());
    }
    let mut least = u64::MAX;
    for _ in 0..ROUNDS {
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        for _ in 0..PINGS {
            exchange(&mut client, &ping)?;
        }
        least = least.min(ALLOCATIONS.load(Ordering::Relaxed) - before);
    }
    drop(client);
    shared.stop(environment.now());
    shared.join(PATIENCE).ok_or("the node did not stop")?;
    Ok(least)
}

fn settings() -> Settings {
    let (patience, folder) = (PATIENCE.as_millis().to_string(), data_directory());
    let lines = sample_lines(&[
        ("tcp_address", "127.0.0.1:0"),
        ("frame_bytes_max", "1048576"),
        ("strangers_max", "16"),
        ("sessions_max", "16"),
        ("consumer_offsets_max", "16"),
        ("frame_time", &patience),
        ("send_timeout", &patience),
        ("drain_timeout", &patience),
        ("join_timeout", &patience),
        // Nothing drains while pings are counted.
        ("stall_dump", "600000"),
        ("stall_max", "600000"),
        ("data_directory", folder.to_str().expect("a folder of the system")),
        ("journal_files_max", "5"),
        ("poll_cache_bytes_max", "0"),
    ]);
    Settings::parse(lines.as_bytes()).expect("every line is there")
}

/// One of the process; the nodes of both backends use it, one after the other.
fn data_directory() -> PathBuf {
    std::env::temp_dir().join(format!("server-ng-ping-allocations-{}", std::process::id()))
}

fn submit(port: &mut Port, record: &Record<'_>) {
    let mut bytes = Vec::new();
    record.write(&mut bytes);
    port.submit(&bytes).expect("an empty ring has room for a record");
}

/// Waits for a record of this kind, past all others; returns its token.
fn next_record(port: &mut Port, kind: ToPython) -> Outcome<u64> {
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        let mut bytes = Vec::new();
        port.drain(&mut bytes, usize::MAX);
        let mut rest = &bytes[..];
        while let Some((record, next)) = Record::split(rest) {
            if record.kind == kind.code() {
                return Ok(record.token);
            }
            rest = next;
        }
        thread::yield_now();
    }
    Err(format!("no record of kind {kind:?} came").into())
}

fn exchange(client: &mut TcpStream, ping: &[u8]) -> Outcome<()> {
    client.write_all(ping)?;
    read_answer(client)
}

fn read_answer(client: &mut TcpStream) -> Outcome<()> {
    let mut header = [0; HEADER_BYTES];
    client.read_exact(&mut header)?;
    let size = u32::from_le_bytes(*header[48..].first_chunk().expect("a header is longer"));
    let body = usize::try_from(size)?.checked_sub(HEADER_BYTES).ok_or("a frame shorter than its header")?;
    client.read_exact(&mut vec![0; body])?;
    Ok(())
}

/// The bytes of a file of hexadecimal lines; lines that begin with `#` are remarks.
fn bytes(text: &str) -> Outcome<Vec<u8>> {
    let digits = text.lines().filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace);
    Ok(digits.map(|byte| u8::from_str_radix(byte, 16)).collect::<Result<_, _>>()?)
}
