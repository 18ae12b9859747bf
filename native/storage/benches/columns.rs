//! From a segment to columns, every checksum verified: what it costs by itself, beside whoever reads the file.

#![allow(missing_docs)]

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ng_storage::columns::{Columns, Layout, Selection, Walk, decode};
use ng_storage::compaction::KeyRule;
use ng_wire::batch::{BatchBuilder, stamp};

const MESSAGES: u32 = 1_000;
const PAYLOAD: [u8; 200] = [7; 200];
/// More than a processor keeps close.
const FAR_BYTES: usize = 256 << 20;
const PIECE_BYTES: usize = 1 << 20;
const ROWS_MAX: usize = 32_768;
const COLUMNS: Columns =
    Columns(Columns::KEY.0 | Columns::VALUE.0 | Columns::OFFSET.0 | Columns::TIMESTAMP.0);

fn batch(number: u64) -> Vec<u8> {
    let messages = (0..MESSAGES).fold(BatchBuilder::new(number), |batch, message| {
        let key = format!("{:016}", number * u64::from(MESSAGES) + u64::from(message));
        batch.message(u128::from(message), message, &PAYLOAD, &key_header(key.as_bytes()))
    });
    let mut bytes = messages.finish();
    stamp(&mut bytes, 0, number * u64::from(MESSAGES), number).expect("a batch that was just built");
    bytes
}

/// Batches of so many bytes, or a little more.
fn segment(bytes: usize) -> Vec<u8> {
    let mut segment = vec![];
    for number in 0.. {
        if segment.len() >= bytes {
            break;
        }
        segment.extend(batch(number));
    }
    segment
}

/// The user header `key`, as text.
fn key_header(key: &[u8]) -> Vec<u8> {
    let field = |bytes: &[u8]| {
        let length = u32::try_from(bytes.len()).expect("a short field");
        [&[2], length.to_le_bytes().as_slice(), bytes].concat()
    };
    [field(b"key"), field(key)].concat()
}

/// Decodes all of it, piece by piece; how many rows that were.
fn rows(segment: &[u8], arena: &mut [u8]) -> usize {
    // Not known to the compiler, as when somebody else asks for it.
    let selection = black_box(Selection {
        columns: COLUMNS,
        rows_max: ROWS_MAX,
        first_offset: 0,
        end_offset: u64::MAX,
        min_timestamp: 0,
        max_timestamp: u64::MAX,
        key: KeyRule::Header(b"key"),
    });
    let (mut at, mut after, mut rows) = (0, 0, 0);
    while at < segment.len() {
        let piece = &segment[at..segment.len().min(at + PIECE_BYTES)];
        let walk = Walk { valid: (segment.len() - at) as u64, after, partition: 0, hashed: true };
        let decoded = decode(piece, &walk, &selection, arena).expect("an arena for such a piece");
        assert_ne!(decoded.consumed, 0, "{:?}", decoded.stop);
        (at, after, rows) = (at + decoded.consumed, decoded.after, rows + decoded.rows);
    }
    rows
}

fn decoding(criterion: &mut Criterion) {
    let mut arena = vec![0; Layout::new(COLUMNS, ROWS_MAX, PIECE_BYTES).size];
    let mut group = criterion.benchmark_group("decode with verification");
    group.measurement_time(Duration::from_secs(10));
    for (place, bytes) in [("one batch, in caches", 1), ("from memory", FAR_BYTES)] {
        let segment = segment(bytes);
        group.throughput(Throughput::Bytes(segment.len() as u64));
        group.bench_function(place, |bencher| bencher.iter(|| rows(black_box(&segment), &mut arena)));
    }
    group.finish();
}

criterion_group!(benches, decoding);
criterion_main!(benches);
