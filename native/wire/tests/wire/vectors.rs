//! The golden bytes both languages read, and a reader of replies that shares nothing with the writers.

use std::fs;
use std::path::Path;

/// The client of every golden frame: bytes 01 to 10.
pub(crate) const CLIENT: u128 = 0x100f_0e0d_0c0b_0a09_0807_0605_0403_0201;

/// The bytes of a golden file: hex pairs, with comments from `#` to the end of the line.
pub(crate) fn golden(name: &str) -> Vec<u8> {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/wire").join(format!("{name}.hex"));
    let text = fs::read_to_string(&path).expect(name);
    text.lines()
        .filter_map(|line| line.split('#').next())
        .flat_map(str::split_ascii_whitespace)
        .map(|pair| u8::from_str_radix(pair, 16).expect(name))
        .collect()
}

/// The first 256 bytes of a frame.
pub(crate) fn head(frame: &[u8]) -> &[u8; 256] {
    frame.first_chunk().expect("a frame has a header")
}

/// What a client reads from a reply.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ReplyRead {
    pub(crate) size: u32,
    pub(crate) command: u8,
    pub(crate) request_checksum: u128,
    pub(crate) client: u128,
    pub(crate) op: u64,
    pub(crate) commit: u64,
    pub(crate) timestamp: u64,
    pub(crate) request: u64,
    pub(crate) operation: u8,
    pub(crate) status: u32,
    pub(crate) body: Vec<u8>,
}

impl ReplyRead {
    pub(crate) fn of(frame: &[u8]) -> Self {
        let number = |at: usize, bytes: usize| {
            frame[at..at + bytes].iter().rev().fold(0_u128, |value, byte| value << 8 | u128::from(*byte))
        };
        let word = |at| u32::try_from(number(at, 4)).expect("four bytes");
        let long = |at| u64::try_from(number(at, 8)).expect("eight bytes");
        Self {
            size: word(48),
            command: frame[60],
            request_checksum: number(128, 16),
            client: number(160, 16),
            op: long(176),
            commit: long(184),
            timestamp: long(192),
            request: long(200),
            operation: frame[208],
            status: word(216),
            body: frame[256..].to_vec(),
        }
    }
}
