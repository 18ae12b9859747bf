#![no_main]

// Not of the library: the wire crate replays that one, and knows nothing of segments.
#[path = "../segment_columns.rs"]
mod segment_columns;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| segment_columns::segment_columns(bytes));
