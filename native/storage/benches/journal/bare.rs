//! The floor: one thread that writes and syncs a prepared file, or reads files, and nothing else.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ng_io::{
    Buffer, Driver, DriverLimits, Environment, FileOptions, Handle, Operation, Outcome, Token, Wait,
};

use crate::bed::LIMITS;
use crate::sample::{Sample, cpu_time};

/// `O_DIRECT` of Linux on this machine's architecture.
#[cfg(target_arch = "aarch64")]
const DIRECT: i32 = 0o200_000;
#[cfg(not(target_arch = "aarch64"))]
const DIRECT: i32 = 0o40_000;

pub(crate) struct Bare {
    file: File,
    offset: u64,
    /// What is copied in front of each write: the least that a record costs that gets a header in front of its body.
    copied: Option<Vec<u8>>,
}

impl Bare {
    pub(crate) fn prepare(path: &Path) -> Self {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(true).custom_flags(DIRECT);
        let file = options.open(path).expect("a file with direct I/O");
        let zeroes = filled(1 << 20);
        for offset in (0..LIMITS.file_bytes).step_by(zeroes.len()) {
            file.write_all_at(&zeroes, offset).expect("room");
        }
        file.sync_all().expect("a healthy disk");
        Self { file, offset: 0, copied: None }
    }

    /// The same, but each write is of bytes that were copied just before.
    pub(crate) fn copying(path: &Path, length: usize) -> Self {
        Self { copied: Some(vec![1; length]), ..Self::prepare(path) }
    }

    pub(crate) fn run(&mut self, length: usize, turn: Duration) -> Sample {
        let mut buffer = filled(length);
        let mut sample = Sample::default();
        let (start, cpu) = (Instant::now(), cpu_time());
        while start.elapsed() < turn {
            let begun = Instant::now();
            if self.offset + length as u64 > LIMITS.file_bytes {
                self.offset = 0;
            }
            if let Some(copied) = &self.copied {
                buffer.clear();
                buffer.extend_from_slice(copied);
            }
            self.file.write_all_at(&buffer, self.offset).expect("a healthy disk");
            self.file.sync_data().expect("a healthy disk");
            self.offset += length as u64;
            sample.latencies.push(begun.elapsed());
            sample.bytes += length as u64;
        }
        sample.writes = sample.latencies.len() as u64;
        sample.syncs = sample.writes;
        sample.syscalls = 2 * sample.writes;
        sample.time = start.elapsed();
        sample.cpu = cpu_time().saturating_sub(cpu);
        sample
    }
}

/// The same writes and syncs through a driver, one after the other: what any journal on it costs at least.
pub(crate) struct BareDriver<E: Environment> {
    driver: E::Driver,
    file: Handle,
    buffer: Buffer,
    offset: u64,
}

impl<E: Environment> BareDriver<E> {
    /// On a file that a [`Bare`] has prepared.
    pub(crate) fn new(environment: &E, path: &Path, length: usize) -> Self {
        let limits = DriverLimits { operations_max: 4, handles_max: 4 };
        let mut driver = environment.driver(limits).expect("a driver");
        let options = FileOptions { direct: true, ..FileOptions::WRITE };
        let file = environment.open_file(path, options).expect("a file with direct I/O");
        let file = driver.adopt_file(file).expect("room");
        Self { driver, file, buffer: filled(length), offset: 0 }
    }

    pub(crate) fn run(&mut self, turn: Duration) -> Sample {
        let mut sample = Sample::default();
        let (start, cpu, calls) = (Instant::now(), cpu_time(), self.driver.counters().syscalls);
        let mut completions = Vec::new();
        while start.elapsed() < turn {
            let begun = Instant::now();
            let length = self.buffer.len() as u64;
            let buffer = std::mem::take(&mut self.buffer);
            if self.offset + length > LIMITS.file_bytes {
                self.offset = 0;
            }
            let write = Operation::WriteAt {
                file: self.file,
                buffer: buffer.into(),
                offset: self.offset,
                sync: true,
            };
            self.driver.submit(Token(0), write);
            while completions.is_empty() {
                let far = ng_io::Instant::FAR_FUTURE;
                self.driver.complete(Wait::Until(far), &mut completions).expect("the driver works");
            }
            if let Some(Outcome::Written { buffer, result }) = completions.pop().map(|done| done.outcome) {
                result.expect("a healthy disk");
                self.buffer = buffer.into_buffer().expect("a buffer was written");
            }
            self.offset += length;
            sample.latencies.push(begun.elapsed());
            sample.bytes += length;
        }
        sample.writes = sample.latencies.len() as u64;
        sample.syscalls = self.driver.counters().syscalls - calls;
        sample.time = start.elapsed();
        sample.cpu = cpu_time().saturating_sub(cpu);
        sample
    }
}

/// Reads files of a ring from end to end, a piece at a time; returns how many bytes.
pub(crate) fn read(paths: impl Iterator<Item = PathBuf>) -> u64 {
    let mut piece = filled(1 << 20);
    let mut total = 0;
    for path in paths {
        let mut options = OpenOptions::new();
        let file = options.read(true).custom_flags(DIRECT).open(path).expect("a file of the ring");
        for offset in (0..LIMITS.file_bytes).step_by(piece.len()) {
            file.read_exact_at(&mut piece, offset).expect("a healthy disk");
            total += piece.len() as u64;
        }
    }
    total
}

fn filled(length: usize) -> Buffer {
    let mut buffer = Buffer::aligned(length);
    while buffer.len() < length {
        buffer.extend_from_slice(&[0; 4_096]);
    }
    buffer
}
