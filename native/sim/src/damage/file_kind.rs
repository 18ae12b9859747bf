//! The kinds of files of a data directory; each of them is damaged alike.

use std::path::Path;

use ng_storage::segments_file::{SegmentsFile, parse_file_name};

use super::disk::Files;

/// A kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileKind {
    /// Which shards count.
    Layout,
    /// Identity and manifest pointer of a shard.
    Superblock,
    /// A file of a journal.
    Journal,
    /// Where groups stood.
    Manifest,
    /// The list of segments of a partition.
    List,
    /// A segment that nothing is appended to any more.
    Sealed,
    /// The last segment of a partition.
    Unsealed,
    /// The index of a sealed segment.
    Index,
    /// A state of the metadata.
    State,
}

impl FileKind {
    /// Every kind.
    pub const ALL: [Self; 9] = [
        Self::Layout,
        Self::Superblock,
        Self::Journal,
        Self::Manifest,
        Self::List,
        Self::Sealed,
        Self::Unsealed,
        Self::Index,
        Self::State,
    ];

    /// The kind of a file; none of a file that is there for a while only.
    pub(super) fn of(path: &Path, files: &Files) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let of_shard = path.iter().any(|part| part == "shards");
        match name {
            "LAYOUT" => Some(Self::Layout),
            "superblock" if of_shard => Some(Self::Superblock),
            "SEGMENTS" => Some(Self::List),
            _ if name.ends_with(".new") => None,
            _ if of_shard && name.starts_with("journal-") => Some(Self::Journal),
            _ if of_shard && name.starts_with("manifest-") => Some(Self::Manifest),
            _ if name.starts_with("state-") => Some(Self::State),
            _ if name.ends_with(".index") => Some(Self::Index),
            _ => segment_kind(path, name, files),
        }
    }
}

fn segment_kind(path: &Path, name: &str, files: &Files) -> Option<FileKind> {
    let place = parse_file_name(name)?;
    let listed = files.get(&path.with_file_name("SEGMENTS"))?;
    let listed = SegmentsFile::decode(listed).ok()?;
    let entry = listed.segments.iter().find(|entry| (entry.base_offset, entry.generation) == place)?;
    Some(if entry.is_sealed() { FileKind::Sealed } else { FileKind::Unsealed })
}
