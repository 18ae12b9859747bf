#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ng_fuzz::client_frame::client_frame(bytes));
