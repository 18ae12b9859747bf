//! The files in tests/golden/storage are what this code writes, and it reads them back.
//!
//! A golden file names its size, then each row of 32 bytes that are not all zero. `SERVER_NG_WRITE_GOLDEN=1` writes them
//! anew, which is right only together with a new version in FORMAT.md.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use ng_storage::block::BlockHeader;
use ng_storage::describe::{FileKind, describe};
use ng_storage::index::Index;
use ng_storage::layout::Layout;
use ng_storage::manifest::Manifest;
use ng_storage::metadata_state::MetadataState;
use ng_storage::segments_file::SegmentsFile;
use ng_storage::superblock::Superblock;

use crate::values;

const ROW: usize = 32;

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/storage").join(format!("{name}.hex"))
}

fn text_of(bytes: &[u8]) -> String {
    let mut text = format!("size {}\n", bytes.len());
    for (number, row) in bytes.chunks(ROW).enumerate().filter(|(_, row)| row.iter().any(|byte| *byte != 0)) {
        write!(text, "{:08x}:", number * ROW).expect("a String takes everything");
        for byte in row {
            write!(text, " {byte:02x}").expect("a String takes everything");
        }
        text.push('\n');
    }
    text
}

fn read(name: &str) -> Vec<u8> {
    let text = fs::read_to_string(path(name)).expect("the golden file exists");
    let mut lines = text.lines();
    let size = lines.next().and_then(|line| line.strip_prefix("size ")).expect("a size comes first");
    let mut bytes = vec![0; size.parse().expect("a number")];
    for line in lines {
        let (start, row) = line.split_once(": ").expect("a row");
        let start = usize::from_str_radix(start, 16).expect("hexadecimal");
        for (index, byte) in row.split(' ').enumerate() {
            bytes[start + index] = u8::from_str_radix(byte, 16).expect("hexadecimal");
        }
    }
    bytes
}

#[test]
fn the_code_writes_the_golden_files() {
    let write = std::env::var_os("SERVER_NG_WRITE_GOLDEN").is_some();
    for (name, _, bytes) in values::files() {
        if write {
            fs::write(path(name), text_of(&bytes)).expect("the tree can be written");
        }
        assert_eq!(read(name), bytes, "{name}");
    }
}

#[test]
fn the_code_reads_the_golden_files() {
    assert_eq!(Layout::decode(&read("layout")), Ok(values::layout()));
    let elected = Superblock::elect(&read("superblock")).expect("four good copies");
    assert_eq!((elected.superblock, elected.agreeing), (values::superblock(), 4));
    assert_eq!(Manifest::decode(&read("manifest")), Ok(values::manifest()));
    assert_eq!(SegmentsFile::decode(&read("segments")), Ok(values::segments_file()));
    assert_eq!(Index::decode(&read("index")), Ok(values::index()));
    assert_eq!(MetadataState::decode(&read("state")), Ok(values::state()));
}

#[test]
fn the_records_of_the_golden_journal_are_whole_and_in_order() {
    let file = read("journal");
    let mut at = 0;
    let mut found = Vec::new();
    while let Ok((header, _)) = BlockHeader::decode(&file[at..]) {
        let end = at + header.bytes as usize;
        for record in header.records(&file[at..end]).expect("a good directory") {
            assert!(record.whole);
            let body = at + record.body_start;
            found.push((record.header, file[body..body + record.header.body_length as usize].to_vec()));
        }
        at = end;
    }
    assert_eq!(found, values::records());
}

#[test]
fn every_golden_file_is_described_without_a_refusal_whatever_the_pieces() {
    for (name, kind, bytes) in values::files() {
        let kind = FileKind::of(kind).expect("a kind");
        let at_once = describe(kind, 0, bytes.len() as u64, &bytes);
        assert_eq!((at_once.next, at_once.wanted), (bytes.len() as u64, 0), "{name}");
        assert!(!at_once.lines.contains("refused"), "{name}: {}", at_once.lines);
        assert_eq!(crate::damage::described(kind, &bytes, 8_192), at_once.lines, "{name}");
    }
}
