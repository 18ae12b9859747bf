//! What the machine offers, for the log of a start and for `inspect probe`.

use std::fmt::Write as _;
use std::path::Path;

use ng_io::affinity;
use ng_io::probe::{self, DirectIo, Limit, RingSupport};
use ng_io::{IoError, PosixEnvironment};

use crate::bytes;
use crate::guard;
use crate::status::{Failure, Status};

/// Probes the machine and the directory at `path`, and fills `buffer` with lines of `key=value`.
///
/// # Safety
/// `path` points to `path_length` readable bytes, `buffer` to `capacity` writable ones; `needed` is null or points to a
/// writable number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn probe_host(
    path: *const u8,
    path_length: usize,
    buffer: *mut u8,
    capacity: usize,
    needed: *mut u64,
) -> i64 {
    guard::call(|| {
        // SAFETY: passed on as the caller gave it.
        let path = unsafe { bytes::copy_in(path, path_length) }?;
        let path =
            String::from_utf8(path).map_err(|_| Failure::new(Status::Invalid, "the path is not UTF-8"))?;
        let text = report(Path::new(&path));
        // SAFETY: passed on as the caller gave it.
        unsafe { bytes::copy_out(text.as_bytes(), buffer, capacity, needed) }
    })
}

fn report(directory: &Path) -> String {
    let mut text = String::new();
    let mut line = |key: &str, value: &str| {
        writeln!(text, "{key}={}", value.replace('\n', " ")).expect("a String takes everything");
    };
    line("kernel", &probe::kernel_release());
    match probe::probe_ring() {
        RingSupport::Available { features } => {
            line("io_uring", "available");
            line("io_uring_features", &format!("{features:?}"));
        }
        RingSupport::Unavailable { reason } => {
            line("io_uring", "unavailable");
            line("io_uring_reason", &reason);
        }
    }
    line("usable_cpus", &list(affinity::usable_cpus()));
    line("allowed_cpus", &list(affinity::allowed_cpus()));
    line("descriptors", &limit(&probe::descriptor_limit()));
    line("locked_memory_bytes", &limit(&probe::locked_memory_limit()));
    line("clock_source", probe::clock_source().as_deref().unwrap_or("unknown"));
    match probe::check_directory(&PosixEnvironment, directory) {
        Ok(DirectIo::Possible) => line("direct_io", "possible"),
        Ok(DirectIo::Refused) => line("direct_io", "refused"),
        Err(error) => line("direct_io", &format!("unknown: {error}")),
    }
    text
}

fn list(cpus: Result<Vec<usize>, IoError>) -> String {
    match cpus {
        Ok(cpus) => cpus.iter().map(usize::to_string).collect::<Vec<_>>().join(","),
        Err(error) => format!("unknown: {error}"),
    }
}

fn limit(limit: &Limit) -> String {
    let name = |bound: Option<u64>| bound.map_or_else(|| "unlimited".to_owned(), |bound| bound.to_string());
    format!("{}/{}", name(limit.soft), name(limit.hard))
}
