//! The floor: one thread that writes and syncs a prepared file, and nothing else.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use ng_io::Buffer;

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
        Self { file, offset: 0 }
    }

    pub(crate) fn run(&mut self, length: usize, turn: Duration) -> Sample {
        let buffer = filled(length);
        let mut sample = Sample::default();
        let (start, cpu) = (Instant::now(), cpu_time());
        while start.elapsed() < turn {
            let begun = Instant::now();
            if self.offset + length as u64 > LIMITS.file_bytes {
                self.offset = 0;
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

fn filled(length: usize) -> Buffer {
    let mut buffer = Buffer::aligned(length);
    while buffer.len() < length {
        buffer.extend_from_slice(&[0; 4_096]);
    }
    buffer
}
