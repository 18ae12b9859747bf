#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ng_fuzz::request_body::request_body(bytes));
