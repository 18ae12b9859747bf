//! Every golden frame, written and read byte for byte.

use std::fs;
use std::path::Path;

use ng_wire::replica::{Content, Frame, PrepareHeader, encode_frame, xxh3_128};

use crate::values::{BODY, each, frame, header, payload};

/// The bytes of a golden file: hex pairs, with comments from `#` to the end of the line.
fn golden(name: &str) -> Vec<u8> {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/replica").join(format!("{name}.hex"));
    let text = fs::read_to_string(&path).expect(name);
    text.lines()
        .filter_map(|line| line.split('#').next())
        .flat_map(str::split_ascii_whitespace)
        .map(|pair| u8::from_str_radix(pair, 16).expect(name))
        .collect()
}

fn written(content: &Content) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_frame(&frame(content.clone()), &mut bytes);
    bytes.extend_from_slice(payload(content));
    bytes
}

#[test]
fn frames_are_written_as_they_were() {
    for (name, content) in each() {
        assert_eq!(written(&content), golden(name), "{name}");
    }
}

#[test]
fn frames_are_read_as_they_were() {
    for (name, content) in each() {
        let bytes = golden(name);
        let (read, body) = Frame::decode(&bytes).expect(name);
        assert_eq!(read, frame(content.clone()), "{name}");
        assert_eq!(body, payload(&content), "{name}");
    }
}

/// The fields of section 1, read here by their offsets alone.
#[test]
fn fields_stand_where_the_table_says() {
    let bytes = golden("do_view_change");
    let number = |at: usize, size: usize| {
        bytes[at..at + size].iter().rev().fold(0_u128, |value, byte| value << 8 | u128::from(*byte))
    };
    assert_eq!(number(0, 16), xxh3_128(&bytes[16..128]));
    assert_eq!(number(16, 16), xxh3_128(&bytes[128..]));
    assert_eq!(number(32, 16), 0xc1);
    assert_eq!(number(48, 4), 128 + 3 * 168);
    assert_eq!((number(52, 4), number(56, 2), number(58, 1), number(59, 1)), (1, 1, 5, 2));
    assert_eq!((number(64, 8), number(72, 8), number(80, 8), number(88, 8)), (1 << 63, 5, 0, 1));
    assert_eq!((number(96, 8), number(104, 8), number(112, 1)), (2, 0, 1));
    assert!(bytes[113..128].iter().all(|byte| *byte == 0));
    let second = 128 + 168;
    assert_eq!(number(second, 16), header().checksum);
    assert_eq!((number(second + 160, 1), number(second + 161, 1)), (4, 1));
    let third = second + 168;
    assert!(bytes[third..third + 160].iter().all(|byte| *byte == 0));
    assert_eq!((number(third + 160, 1), number(third + 161, 1)), (2, 0));
}

#[test]
fn a_prepare_header_names_its_body() {
    assert!(header().verifies(BODY));
    assert!(!header().verifies(&BODY[1..]));
    assert!(!header().verifies(b"create stream 0rders"));
    let root = PrepareHeader::root(1 << 63, 1);
    assert_ne!(root.checksum, PrepareHeader::root(1 << 63, 2).checksum);
    assert_ne!(root.checksum, PrepareHeader::root(1, 1).checksum);
}
