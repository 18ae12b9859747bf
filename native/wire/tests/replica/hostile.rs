//! Bytes that are not a frame: a refusal each time, and never another message.

use ng_wire::primitive::Malformed;
use ng_wire::replica::{
    Content, FRAME_HEADER_BYTES, Frame, FrameRefusal, LogOperation, Plane, PrepareHeader, PrepareRefusal,
    StateChunk, encode_frame, frame_size, xxh3_128,
};
use proptest::prelude::*;

use crate::values::{any_content, each, frame, header, payload};

fn written(name: &str) -> Vec<u8> {
    let content = each().into_iter().find(|(known, _)| *known == name).expect("a golden frame").1;
    let mut bytes = Vec::new();
    encode_frame(&frame(content.clone()), &mut bytes);
    bytes.extend_from_slice(payload(&content));
    bytes
}

/// Seals a frame anew after a change to its header or body.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let covered = match bytes[58] {
        1 => 160,
        16 => 16,
        _ => bytes.len(),
    };
    let end = bytes.len().min(FRAME_HEADER_BYTES + covered);
    let body = xxh3_128(&bytes[FRAME_HEADER_BYTES..end]);
    bytes[16..32].copy_from_slice(&body.to_le_bytes());
    let header = xxh3_128(&bytes[16..FRAME_HEADER_BYTES]);
    bytes[..16].copy_from_slice(&header.to_le_bytes());
    bytes
}

/// A flipped bit in a vote must never make another vote.
#[test]
fn every_flipped_bit_of_every_control_frame_is_refused() {
    for (name, _) in each().into_iter().filter(|(name, _)| *name != "prepare") {
        let bytes = written(name);
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(Frame::decode(&flipped).is_err(), "{name}: bit {bit}");
        }
    }
}

#[test]
fn every_flipped_bit_of_a_prepare_is_refused_by_one_seal_or_the_other() {
    let bytes = written("prepare");
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let taken = Frame::decode(&flipped).is_ok_and(|(_, body)| header().verifies(body));
        assert!(!taken, "bit {bit}");
    }
}

#[test]
fn every_shorter_frame_is_refused() {
    for (name, _) in each() {
        let bytes = written(name);
        for length in 0..bytes.len() {
            assert!(Frame::decode(&bytes[..length]).is_err(), "{name}: {length} bytes");
        }
    }
}

#[test]
fn what_is_wrong_is_named() {
    let change = |name: &str, at: usize, value: u8| {
        let mut bytes = written(name);
        bytes[at] = value;
        Frame::decode(&sealed(bytes)).map(|_| ())
    };
    assert_eq!(change("commit", 56, 2), Err(FrameRefusal::Version(2)));
    assert_eq!(change("commit", 58, 99), Err(FrameRefusal::Command(99)));
    assert_eq!(change("commit", 60, 1), Err(FrameRefusal::Reserved));
    assert_eq!(change("commit", 127, 1), Err(FrameRefusal::Reserved));
    assert_eq!(change("commit", 104, 1), Err(FrameRefusal::Reserved), "a commit has no nonce");
    assert_eq!(change("commit", 48, 127), Err(FrameRefusal::Size(127)));
    assert!(matches!(change("do_view_change", 112, 9), Err(FrameRefusal::Malformed(_))));
    assert!(matches!(change("do_view_change", 128 + 160, 9), Err(FrameRefusal::Malformed(_))));
    assert_eq!(change("do_view_change", 128 + 162, 1), Err(FrameRefusal::Reserved));
    assert_eq!(change("start_view", 200, 1), Err(FrameRefusal::Prepare(PrepareRefusal::Checksum)));
}

#[test]
fn a_size_is_refused_before_anything_is_read() {
    let bytes = written("prepare");
    let header = bytes.first_chunk().expect("a header");
    assert_eq!(frame_size(header, 200), Err(FrameRefusal::Size(u32::try_from(bytes.len()).expect("short"))));
    assert_eq!(frame_size(&[0; FRAME_HEADER_BYTES], 200), Err(FrameRefusal::HeaderChecksum));
}

/// Each field of the commands that are no consensus, sealed with a value that it cannot have.
#[test]
fn fields_that_contradict_each_other_are_refused() {
    let change = |name: &str, at: usize, value: &[u8]| {
        let mut bytes = written(name);
        bytes[at..at + value.len()].copy_from_slice(value);
        Frame::decode(&sealed(bytes)).map(|_| ())
    };
    let refused = |name: &str, at: usize, value: &[u8], refusal: FrameRefusal| {
        assert_eq!(change(name, at, value), Err(refusal), "{name} at {at}");
    };
    let value = |value: u32| FrameRefusal::Malformed(Malformed::Value(value));
    refused("beat", 64, &[1], FrameRefusal::Group(1));
    refused("beat", 52, &[1], FrameRefusal::Reserved);
    refused("beat", 72, &[1], FrameRefusal::Reserved);
    refused("beat", 104, &[0], value(2));
    refused("beat", 128, &[2], value(2));
    refused("beat", 130, &1025_u16.to_le_bytes(), value(1025));
    refused("beat", 132, &[1], FrameRefusal::Reserved);
    refused("beat", 136, &[0; 8], FrameRefusal::Group(0));
    for name in ["not_open", "opened", "fetch_state", "state_chunk", "commit"] {
        refused(name, 64, &[0; 8], FrameRefusal::Group(0));
        refused(name, 96, &[1], FrameRefusal::Reserved);
    }
    refused("not_open", 104, &[1], FrameRefusal::Reserved);
    refused("opened", 80, &[1], FrameRefusal::Reserved);
    refused("fetch_state", 88, &[1], FrameRefusal::Reserved);
    refused("state_chunk", 80, &[101], FrameRefusal::Size(18));
    refused("state_chunk", 88, &[117], FrameRefusal::Size(18));
    refused("state_chunk", 128, &[0], FrameRefusal::BodyChecksum);
    refused("state_chunk", 144, b"S", FrameRefusal::BodyChecksum);
}

#[test]
fn beats_and_parts_of_a_state_are_bounded() {
    let grown = |name: &str, by: usize| {
        let mut bytes = written(name);
        bytes.resize(bytes.len() + by, 1);
        let size = u32::try_from(bytes.len()).expect("short");
        bytes[48..52].copy_from_slice(&size.to_le_bytes());
        bytes
    };
    assert!(Frame::decode(&sealed(grown("beat", 254 * 32))).is_ok());
    assert_eq!(Frame::decode(&sealed(grown("beat", 255 * 32))), Err(FrameRefusal::Size(257 * 32)));
    assert_eq!(Frame::decode(&sealed(grown("not_open", 1))), Err(Malformed::Trailing { extra: 1 }.into()));
    let chunk = |bytes: u32| {
        let state = vec![1; bytes as usize];
        let checksum = xxh3_128(&state);
        let chunk = StateChunk { nonce: 1, position: 0, total: 1 << 20, checksum, bytes };
        let mut frame_bytes = Vec::new();
        encode_frame(&frame(Content::StateChunk(chunk)), &mut frame_bytes);
        frame_bytes.extend_from_slice(&state);
        Frame::decode(&frame_bytes).map(|(frame, _)| frame.content)
    };
    assert!(chunk(256 * 1024).is_ok());
    assert_eq!(chunk(256 * 1024 + 1), Err(FrameRefusal::Size(256 * 1024 + 1)));
    assert_eq!(chunk(0), Err(FrameRefusal::Size(0)), "nothing, and not the end");
}

#[test]
fn a_log_without_an_anchor_is_refused() {
    for name in ["do_view_change", "start_view"] {
        let mut bytes = written(name);
        bytes.truncate(FRAME_HEADER_BYTES);
        bytes[48..52].copy_from_slice(&128_u32.to_le_bytes());
        assert_eq!(Frame::decode(&sealed(bytes)), Err(FrameRefusal::Size(0)), "{name}");
    }
}

#[test]
fn another_kind_of_record_is_no_prepare() {
    let mut bytes = header().encode();
    bytes[112] = 2;
    let checksum = xxh3_128(&bytes[16..]);
    bytes[..16].copy_from_slice(&checksum.to_le_bytes());
    assert_eq!(PrepareHeader::decode(&bytes), Err(PrepareRefusal::Kind(2)));
    bytes[112] = 1;
    bytes[159] = 1;
    let checksum = xxh3_128(&bytes[16..]);
    bytes[..16].copy_from_slice(&checksum.to_le_bytes());
    assert_eq!(PrepareHeader::decode(&bytes), Err(PrepareRefusal::Reserved));
}

#[test]
fn operations_belong_to_one_kind_of_group() {
    for operation in LogOperation::ALL {
        assert_eq!(LogOperation::from_code(operation.code()), Some(operation));
        let anywhere = operation.belongs_to(Plane::Metadata) && operation.belongs_to(Plane::Partition);
        assert_eq!(anywhere, operation == LogOperation::Noop);
        assert!(operation.belongs_to(Plane::Metadata) || operation.belongs_to(Plane::Partition));
    }
    assert_eq!(LogOperation::from_code(0), None);
    assert_eq!(LogOperation::from_code(99), None);
}

proptest! {
    /// Sealed nonsense: whatever is taken is written back as it came.
    #[test]
    fn sealed_nonsense_is_refused_or_canonical(
        content in any_content(),
        changes in prop::collection::vec((0..600_usize, any::<u8>()), 1..4),
    ) {
        let mut bytes = Vec::new();
        let payload = vec![7; content.payload_bytes() as usize];
        encode_frame(&frame(content), &mut bytes);
        bytes.extend_from_slice(&payload);
        let length = bytes.len();
        for (at, value) in changes {
            bytes[at % length] = value;
        }
        let bytes = sealed(bytes);
        if let Ok((taken, body)) = Frame::decode(&bytes) {
            let mut again = Vec::new();
            encode_frame(&taken, &mut again);
            again.extend_from_slice(body);
            prop_assert_eq!(again, bytes);
        }
    }

    #[test]
    fn nonsense_is_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(Frame::decode(&bytes).is_err());
    }
}
