//! What a drain of nothing costs on this side of the boundary: the rest of its price in Python is the way across.

#![allow(missing_docs)]

use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use ng_wire::table::setting::sample_lines;
use server_ng_native::engine::{engine_close, engine_drain, engine_open};

/// As the control plane drains.
const BUFFER_BYTES: usize = 64 * 1024;

fn drain(criterion: &mut Criterion) {
    let crash_file = std::env::temp_dir().join("server-ng-bench-crash.json");
    let changes = [
        ("backend", "posix"),
        ("tcp_address", "127.0.0.1:0"),
        ("crash_file", crash_file.to_str().expect("a folder of the system")),
    ];
    let settings = sample_lines(&changes);
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
