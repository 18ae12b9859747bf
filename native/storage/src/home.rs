//! Where everything lies below a data directory; FORMAT.md, section 1.

use std::path::{Path, PathBuf};

use crate::layout::JournalName;
use crate::segments_file::SegmentEntry;

/// The group of the metadata.
pub const METADATA_GROUP: u64 = 1 << 63;

/// A data directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
}

/// The directory of one shard: superblock, journal, manifests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardHome {
    directory: PathBuf,
}

/// The directory of one group: its segments, or the states of the metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupHome {
    directory: PathBuf,
    group: u64,
}

/// The name under which a file is written before it takes the place of the one before.
#[must_use]
pub fn replacement(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    PathBuf::from(name)
}

/// Whether a file has such a name.
#[must_use]
pub fn is_replacement(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "new")
}

impl Home {
    /// The data directory at `root`.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The directory itself.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Which shards exist.
    #[must_use]
    pub fn layout(&self) -> PathBuf {
        self.root.join("LAYOUT")
    }

    /// All shards.
    #[must_use]
    pub fn shards(&self) -> PathBuf {
        self.root.join("shards")
    }

    /// All shards while they are being founded.
    #[must_use]
    pub fn shards_being_founded(&self) -> PathBuf {
        replacement(&self.shards())
    }

    /// One shard.
    #[must_use]
    pub fn shard(&self, name: JournalName) -> ShardHome {
        ShardHome::below(&self.shards(), name)
    }

    /// All groups.
    #[must_use]
    pub fn groups(&self) -> PathBuf {
        self.root.join("groups")
    }

    /// One group.
    #[must_use]
    pub fn group(&self, group: u64) -> GroupHome {
        let directory = self.groups().join(format!("{:02x}", group & 0xff)).join(group_name(group));
        GroupHome { directory, group }
    }

    /// What a shard keeps free for removals on a full disk.
    #[must_use]
    pub fn reserve(&self, shard: u32) -> PathBuf {
        self.root.join(format!("reserve-{shard:08}"))
    }

    /// What was removed and is deleted at leisure.
    #[must_use]
    pub fn trash(&self) -> PathBuf {
        self.root.join("trash")
    }
}

impl ShardHome {
    /// The shard's directory below `shards`, which is where shards are or where they are being founded.
    #[must_use]
    pub fn below(shards: &Path, name: JournalName) -> Self {
        Self { directory: shards.join(Self::name(name)) }
    }

    /// The name of a shard's directory.
    #[must_use]
    pub fn name(name: JournalName) -> String {
        format!("{:08}-{:08}", name.epoch, name.shard)
    }

    /// The directory itself, with the files of the journal.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Identity, incarnation, manifest pointer.
    #[must_use]
    pub fn superblock(&self) -> PathBuf {
        self.directory.join("superblock")
    }

    /// Where the groups stood.
    #[must_use]
    pub fn manifest(&self, sequence: u64) -> PathBuf {
        self.directory.join(format!("manifest-{sequence:020}"))
    }

    /// Which losses an operator has accepted for the next start.
    #[must_use]
    pub fn accepted_loss(&self) -> PathBuf {
        self.directory.join("accepted-loss")
    }
}

impl GroupHome {
    /// The directory that holds the groups with the same last two digits.
    #[must_use]
    pub fn parent(&self) -> &Path {
        self.directory.parent().unwrap_or(&self.directory)
    }

    /// The directory itself.
    #[must_use]
    pub fn directory(&self) -> PathBuf {
        self.directory.clone()
    }

    /// The name of the group's directory.
    #[must_use]
    pub fn name(&self) -> String {
        group_name(self.group)
    }

    /// The list of segments.
    #[must_use]
    pub fn segments(&self) -> PathBuf {
        self.directory.join("SEGMENTS")
    }

    /// A segment.
    #[must_use]
    pub fn segment(&self, entry: &SegmentEntry) -> PathBuf {
        self.directory.join(entry.file_name())
    }

    /// The index of a segment.
    #[must_use]
    pub fn index(&self, entry: &SegmentEntry) -> PathBuf {
        self.segment(entry).with_extension("index")
    }

    /// The state of the metadata after an op.
    #[must_use]
    pub fn state(&self, op: u64) -> PathBuf {
        self.directory.join(format!("state-{op:020}"))
    }
}

fn group_name(group: u64) -> String {
    format!("{group:016x}")
}
