//! What the directory of a group must hold, and a reader of it that shares nothing with the store but the codecs.

use std::path::Path;

use ng_io::SimulatedEnvironment;
use ng_storage::PAGE;
use ng_storage::footer::{Footer, digests};
use ng_storage::home::Home;
use ng_storage::index::Index;
use ng_storage::segment::{Found, look};
use ng_storage::segments_file::SegmentsFile;
use ng_storage::store::CommittedBatch;

/// Something that the log of a group said.
#[derive(Clone, Debug)]
pub(crate) enum Said {
    Batch(CommittedBatch),
    Purge { generation: u64 },
    Truncate { generation: u64, offset: u64 },
}

/// The log of a group from its first op on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    pub(crate) said: Vec<Said>,
}

impl Log {
    pub(crate) fn head(&self) -> u64 {
        self.said.len() as u64
    }

    /// Last offset and purge generation after an op.
    pub(crate) fn state_at(&self, op: u64) -> (u64, u64) {
        let mut state = (u64::MAX, 0);
        for said in self.said.iter().take(usize::try_from(op).expect("a short log")) {
            match said {
                Said::Batch(batch) => state.0 = batch.last_offset,
                Said::Purge { generation } => state = (u64::MAX, *generation),
                Said::Truncate { .. } => {}
            }
        }
        state
    }

    pub(crate) fn next_offset(&self) -> u64 {
        self.state_at(self.head()).0.wrapping_add(1)
    }

    pub(crate) fn generation(&self) -> u64 {
        self.state_at(self.head()).1
    }

    /// The batches of the present generation, and the offset below which they may be gone.
    pub(crate) fn batches(&self) -> (Vec<Vec<u8>>, u64) {
        let (mut batches, mut first) = (Vec::new(), 0);
        for said in &self.said {
            match said {
                Said::Batch(batch) => batches.push(batch.bytes.to_vec()),
                Said::Purge { .. } => {
                    batches.clear();
                    first = 0;
                }
                Said::Truncate { offset, .. } => first = first.max(*offset),
            }
        }
        (batches, first)
    }
}

fn file(environment: &SimulatedEnvironment, path: &Path) -> Vec<u8> {
    environment.file_bytes(path).unwrap_or_else(|| panic!("{} is missing", path.display()))
}

/// Every batch of a group in order, with everything that seals a segment checked.
pub(crate) fn read(environment: &SimulatedEnvironment, home: &Home, group: u64) -> Vec<Vec<u8>> {
    let home = home.group(group);
    let Some(bytes) = environment.file_bytes(&home.segments()) else { return Vec::new() };
    let listed = SegmentsFile::decode(&bytes).expect("a list is replaced as a whole");
    let mut batches = Vec::new();
    for entry in &listed.segments {
        let bytes = file(environment, &home.segment(entry));
        let mut position = 0;
        // A crash in the middle of sealing leaves a footer that no list names.
        let left_over = |position: usize| {
            !entry.is_sealed() && position.is_multiple_of(PAGE) && Footer::decode(&bytes[position..]).is_ok()
        };
        while !left_over(position)
            && let Found::Batch(batch) =
                look(&bytes[position..], position).expect("no garbage between batches")
        {
            let end = position + usize::try_from(batch.header.length).expect("a short batch");
            batches.push(bytes[position..end].to_vec());
            position = end;
        }
        if !entry.is_sealed() {
            let page = position.next_multiple_of(PAGE).min(bytes.len());
            let (padding, rest) = bytes[position..].split_at(page - position);
            assert!(padding.iter().all(|byte| *byte == 0), "nothing stands behind the last batch");
            assert!(rest.iter().all(|byte| *byte == 0) || left_over(page), "nothing stands behind it");
            continue;
        }
        assert_eq!(entry.bytes, position as u64);
        let (footer, checksum) =
            Footer::decode(&bytes[position.next_multiple_of(PAGE)..]).expect("a sealed segment has a footer");
        assert_eq!((checksum, footer.bytes), (entry.footer, entry.bytes));
        assert_eq!(footer.digests, digests(&bytes[..position]));
        // One that came from another replica has none yet: it is derived.
        let Some(index) = environment.file_bytes(&home.index(entry)) else { continue };
        let index = Index::decode(&index).expect("an index is replaced as a whole");
        assert_eq!((index.base_offset, index.segment_bytes), (entry.base_offset, entry.bytes));
        assert!(!index.entries.is_empty());
    }
    batches
}

/// Holds what a group's directory has against its log.
pub(crate) fn check(environment: &SimulatedEnvironment, home: &Home, group: u64, log: &Log, what: &str) {
    let found = read(environment, home, group);
    let (expected, first) = log.batches();
    let gone =
        expected.len().checked_sub(found.len()).unwrap_or_else(|| panic!("{what}: more than was said"));
    assert!(found == expected[gone..], "{what}: group {group} holds other batches than its log");
    let needed = expected
        .iter()
        .position(|bytes| u64::from_le_bytes(*bytes[8..].first_chunk().expect("a header")) >= first);
    assert!(gone <= needed.unwrap_or(expected.len()), "{what}: {gone} batches are gone, {needed:?} may be");
}
