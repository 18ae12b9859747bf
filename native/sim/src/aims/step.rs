//! Steps at which a fault may strike.

use ng_io::simulated::{ChangeKind, DiskChange};
use ng_wire::replica::{Content, Frame, Message};

use crate::plan::{Fault, Plan};

/// A moment in the life of a node. A fault that strikes there strikes before anything else happens on the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Step {
    /// A block of the journal is written and not synced.
    JournalWritten,
    /// The journal is synced, and no message that waited for that has been sent.
    JournalSynced,
    /// Batches are written to a segment and not synced.
    SegmentWritten,
    /// A segment is being sealed: its index is written, synced or named.
    SegmentSealed,
    /// The list of segments of a group is written, synced or named.
    SegmentsListed,
    /// A manifest, or a state of the metadata that it names, is written, synced or named as a state.
    ManifestWritten,
    /// A manifest has its name, or the directory with that name is synced, and no superblock names it.
    ManifestNamed,
    /// A half of the superblock is written or synced.
    SuperblockWritten,
    /// A start has changed the disk.
    Opening,
    /// A start that changes the number of shards has changed the disk.
    Resharding,
    /// A vote for a view was sent to one node.
    VoteSent,
    /// A new view was announced to one node.
    ViewAnnounced,
    /// An operation was acknowledged, to the primary or to the client.
    Acknowledged,
    /// A piece of a state was sent.
    PieceSent,
    /// A piece of a state arrived, and the next one was not asked for.
    PieceTaken,
    /// A state was installed, and its record is not synced.
    StateInstalled,
    /// A request for operations arrived, and none was sent.
    RepairAsked,
}

impl Step {
    /// Every step.
    pub const ALL: [Self; 17] = [
        Self::JournalWritten,
        Self::JournalSynced,
        Self::SegmentWritten,
        Self::SegmentSealed,
        Self::SegmentsListed,
        Self::ManifestWritten,
        Self::ManifestNamed,
        Self::SuperblockWritten,
        Self::Opening,
        Self::Resharding,
        Self::VoteSent,
        Self::ViewAnnounced,
        Self::Acknowledged,
        Self::PieceSent,
        Self::PieceTaken,
        Self::StateInstalled,
        Self::RepairAsked,
    ];

    /// The step that a change of the disk of a running process is, if it is one.
    pub(super) fn of_change(change: &DiskChange) -> Option<Self> {
        let name = change.path.file_name()?.to_str()?;
        let directory = change.path.parent()?.file_name()?;
        let is_named = change.kind == ChangeKind::Names;
        let is_written = change.kind == ChangeKind::Write;
        match name {
            _ if name.starts_with("journal-") && is_written => Some(Self::JournalWritten),
            _ if name.starts_with("journal-") && !is_named => Some(Self::JournalSynced),
            _ if name.ends_with(".log") && is_written => Some(Self::SegmentWritten),
            _ if name.contains(".index") => Some(Self::SegmentSealed),
            _ if name.starts_with("SEGMENTS") => Some(Self::SegmentsListed),
            _ if name.starts_with("state-") => Some(Self::ManifestWritten),
            _ if name.starts_with("manifest-") && is_named => Some(Self::ManifestNamed),
            _ if name.starts_with("manifest-") => Some(Self::ManifestWritten),
            _ if directory == "shards" && change.kind == ChangeKind::Sync => Some(Self::ManifestNamed),
            "superblock" => Some(Self::SuperblockWritten),
            _ => None,
        }
    }

    /// The step that sending a frame is, if it is one.
    pub(super) fn of_sent(frame: &[u8]) -> Option<Self> {
        let (frame, _) = Frame::decode(frame).ok()?;
        match frame.content {
            Content::Message(Message::StartViewChange(_) | Message::DoViewChange(_)) => Some(Self::VoteSent),
            Content::Message(Message::StartView(_)) => Some(Self::ViewAnnounced),
            Content::Message(Message::PrepareOk(_)) => Some(Self::Acknowledged),
            Content::StateChunk(_) => Some(Self::PieceSent),
            _ => None,
        }
    }

    /// The step that receiving a frame is, if it is one.
    pub(super) fn of_received(frame: &[u8]) -> Option<Self> {
        let (frame, _) = Frame::decode(frame).ok()?;
        match frame.content {
            Content::StateChunk(_) => Some(Self::PieceTaken),
            Content::Message(Message::RequestPrepares(_)) => Some(Self::RepairAsked),
            _ => None,
        }
    }

    /// Whether it is a change of the disk.
    pub(super) const fn is_of_disk(self) -> bool {
        (self as u8) <= Self::Resharding as u8
    }

    /// Whether it is part of a start.
    pub(super) const fn is_of_start(self) -> bool {
        matches!(self, Self::Opening | Self::Resharding)
    }

    /// Whether such a world takes it at all.
    pub(super) fn is_within(self, plan: &Plan) -> bool {
        match self {
            Self::Resharding => plan.has(Fault::ShardCount),
            Self::Acknowledged => true,
            _ => self.is_of_disk() || plan.nodes() > 1,
        }
    }

    /// Times that it happens in a world where it happens often.
    pub(super) const fn often(self) -> u64 {
        match self {
            Self::JournalWritten | Self::JournalSynced | Self::Acknowledged => 1_024,
            Self::SegmentWritten | Self::SegmentsListed | Self::Opening | Self::SuperblockWritten => 256,
            Self::SegmentSealed | Self::Resharding | Self::ManifestWritten | Self::VoteSent => 64,
            Self::ManifestNamed | Self::RepairAsked => 32,
            Self::ViewAnnounced | Self::PieceSent | Self::PieceTaken | Self::StateInstalled => 8,
        }
    }
}
