//! What a drain of nothing costs on this side of the boundary: the rest of its price in Python is the way across.

#![allow(missing_docs)]

use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use server_ng_native::engine::{engine_close, engine_drain, engine_open};

/// As the control plane drains.
const BUFFER_BYTES: usize = 64 * 1024;

fn drain(criterion: &mut Criterion) {
    let crash_file = std::env::temp_dir().join("server-ng-bench-crash.json");
    let settings = format!(
        "backend=posix\nshard_cpus=-\ninbox_capacity=1024\ntcp_address=127.0.0.1:0\naccept_backlog=16\n\
        frame_bytes_max=67108864\nconnections_max=16\nstrangers_max=16\nsessions_max=16\nlogins_max=16\n\
        frame_time_ms=10000\ndrain_timeout_ms=1000\njoin_timeout_ms=1000\nstall_dump_ms=5000\nstall_max_ms=60000\n\
        notify_socket=\nwatchdog_us=0\ndata_directory=data\ndirect_io=false\njournal_files_max=5\n\
        consumer_offsets_max=16\nunflushed_bytes_max=1048576\npoll_cache_bytes_max=0\npoll_reply_bytes_max=1048576\n\
        retention_period_ms=0\nconsumer_hold=all\ncrash_file={}\ncluster_name=bench",
        crash_file.display()
    );
    let mut handle = 0;
    // SAFETY: the text outlives the call, and the handle is a local number.
    let opened = unsafe { engine_open(settings.as_ptr(), settings.len(), &raw mut handle) };
    assert_eq!(opened, 0, "the settings are complete");
    let (mut buffer, mut needed) = (vec![0; BUFFER_BYTES], 0);
    criterion.bench_function("engine_drain of nothing", |bencher| {
        bencher.iter(|| {
            // SAFETY: the buffer has that many bytes, and the number is a local one.
            unsafe { engine_drain(handle, buffer.as_mut_ptr(), buffer.len(), &raw mut needed) }
        });
    });
    assert_eq!(engine_close(handle), 0, "its threads never began");
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .sample_size(30);
    targets = drain
}
criterion_main!(benches);
