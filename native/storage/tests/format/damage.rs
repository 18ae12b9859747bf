//! Each file cut at every length and with every byte class flipped: a typed refusal or the right content, never a panic.

use ng_storage::Reason;
use ng_storage::block::BlockHeader;
use ng_storage::checksum::checksum;
use ng_storage::describe::{FileKind, describe};
use ng_storage::footer::Footer;
use ng_storage::index::Index;
use ng_storage::layout::Layout;
use ng_storage::manifest::Manifest;
use ng_storage::metadata_state::MetadataState;
use ng_storage::record::RecordHeader;
use ng_storage::record_body::{InstallBody, MarkBody, OpenBody, ViewBody};
use ng_storage::segments_file::SegmentsFile;
use ng_storage::superblock::Superblock;
use ng_wire::batch::verify;
use proptest::prelude::*;

use crate::values;

/// What `inspect` prints of a file that it reads in pieces of `piece` bytes.
pub(crate) fn described(kind: FileKind, bytes: &[u8], piece: usize) -> String {
    let (mut lines, mut position, mut wanted) = (String::new(), 0_usize, piece);
    loop {
        let end = (position + wanted).min(bytes.len());
        let answer = describe(kind, position as u64, bytes.len() as u64, &bytes[position..end]);
        lines.push_str(&answer.lines);
        if answer.wanted == 0 {
            return lines;
        }
        let next = usize::try_from(answer.next).expect("a position in the file");
        let more = usize::try_from(answer.wanted).expect("a size of the file");
        assert!(next > position || more > wanted, "no progress at {position}");
        wanted = if next > position { more.min(piece) } else { more };
        position = next;
    }
}

/// Everything that is not right is refused by the structure's own decoder.
fn is_refused(name: &str, bytes: &[u8]) -> bool {
    match name {
        "layout" => Layout::decode(bytes).is_err(),
        "manifest" => Manifest::decode(bytes).is_err(),
        "segments" => SegmentsFile::decode(bytes).is_err(),
        "state" => MetadataState::decode(bytes).is_err(),
        _ => Index::decode(bytes).is_err(),
    }
}

fn flips() -> [u8; 4] {
    [0x01, 0x80, 0xff, 0x10]
}

#[test]
fn a_cut_file_of_one_structure_is_refused_at_every_length() {
    for (name, kind, bytes) in values::files() {
        let kind = FileKind::of(kind).expect("a kind");
        for length in 0..bytes.len() {
            let lines = described(kind, &bytes[..length], 8_192);
            if ["layout", "manifest", "segments", "index", "state"].contains(&name) {
                assert!(is_refused(name, &bytes[..length]), "{name} cut to {length}");
                assert!(lines.contains("refused"), "{name} cut to {length}: {lines}");
            }
        }
    }
}

#[test]
fn a_flipped_byte_of_one_structure_is_refused_wherever_it_is() {
    for (name, kind, bytes) in values::files() {
        let single = ["layout", "manifest", "segments", "index", "state"].contains(&name);
        let kind = FileKind::of(kind).expect("a kind");
        for position in 0..bytes.len() {
            // Pages of payload and of padding need no more than a sample.
            if !single && position % 4096 > 1_500 && position % 97 != 0 {
                continue;
            }
            for flip in flips() {
                let mut damaged = bytes.clone();
                damaged[position] ^= flip;
                let lines = described(kind, &damaged, 8_192);
                if single {
                    assert!(is_refused(name, &damaged), "{name} flipped at {position}");
                    assert!(lines.contains("refused"), "{name} flipped at {position}");
                }
            }
        }
    }
}

#[test]
fn a_flipped_byte_of_the_journal_never_yields_another_record() {
    let file = values::journal();
    let truth = values::records();
    for position in 0..file.len() {
        let mut damaged = file.clone();
        damaged[position] ^= 0x40;
        let mut at = 0;
        while at < damaged.len() {
            let Ok((header, _)) = BlockHeader::decode(&damaged[at..]) else {
                at += 4096;
                continue;
            };
            let end = at + header.bytes as usize;
            for record in header.records(&damaged[at..end]).unwrap_or_default() {
                let (_, body) =
                    truth.iter().find(|(header, _)| *header == record.header).expect("a record we wrote");
                let start = at + record.body_start;
                let read = &damaged[start..start + body.len()];
                assert_eq!(record.whole, read == &body[..], "flipped at {position}");
            }
            at = end;
        }
    }
}

#[test]
fn a_flipped_byte_of_a_batch_or_a_footer_is_refused() {
    let batch = values::batch(5, 1_000, &[b"payload", b"another"]);
    let (footer, _) = values::footer(&batch).encode();
    verify(&batch).expect("a good batch");
    Footer::decode(&footer).expect("a good footer");
    for flip in flips() {
        for position in 0..batch.len() {
            let mut damaged = batch.clone();
            damaged[position] ^= flip;
            assert!(verify(&damaged).is_err(), "batch flipped at {position}");
        }
        for position in 0..footer.len() {
            let mut damaged = footer.clone();
            damaged[position] ^= flip;
            assert!(Footer::decode(&damaged).is_err(), "footer flipped at {position}");
        }
    }
    for length in 0..batch.len() {
        assert!(verify(&batch[..length]).is_err());
    }
}

#[test]
fn a_version_of_another_build_is_refused_as_that() {
    let refusal = |version: u8, features: u8| {
        let mut bytes = values::layout().encode();
        (bytes[24], bytes[26]) = (version, features);
        assert_eq!(
            Layout::decode(&bytes).expect_err("rot").reason,
            Reason::Checksum,
            "what does not fit its checksum speaks for no other build"
        );
        let sum = checksum(&bytes[16..]);
        bytes[..16].copy_from_slice(&sum.to_le_bytes());
        Layout::decode(&bytes).expect_err("another build")
    };
    assert!(refusal(3, 0).is_newer());
    assert!(refusal(2, 1).is_newer());
    assert!(refusal(1, 0).is_older());
    assert_eq!(refusal(0, 0).reason, Reason::Value(0));
}

proptest! {
    #[test]
    fn no_decoder_panics_on_anything(bytes in proptest::collection::vec(any::<u8>(), 0..6_000), magic in 0..8_usize) {
        let magics: [&[u8; 8]; 8] = [
            b"NGLAYOUT", b"NGSUPERB", b"NGBLOCK\0", b"NGMANIFS", b"NGFOOTER", b"NGSEGMTS", b"NGINDEX\0", b"????????",
        ];
        let mut bytes = bytes;
        if bytes.len() > 28 {
            bytes[16..24].copy_from_slice(magics[magic]);
            bytes[24..28].copy_from_slice(&[1, 0, 0, 0]);
        }
        for name in ["layout", "superblock", "journal", "manifest", "segment", "segments", "index", "state"] {
            described(FileKind::of(name).expect("a kind"), &bytes, 4_096);
        }
        let _ = Superblock::elect(&bytes);
        let _ = RecordHeader::decode(&bytes);
        let _ = ViewBody::decode(&bytes, 7);
        let _ = OpenBody::decode(&bytes);
        let _ = InstallBody::decode(&bytes);
        let _ = MarkBody::decode(&bytes);
    }
}
