use super::identity::{Op, View};
use super::message::Message;

/// The most entries of one beat.
pub const BEAT_ENTRIES_MAX: usize = 256;

/// The most bytes of state that one frame carries.
pub const STATE_CHUNK_MAX: usize = 256 * 1024;

/// The most shards of a node.
pub const SHARDS_MAX: u16 = 1024;

/// What a frame carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Consensus, about one group.
    Message(Message),
    /// A shard of a node lives. It is about no group in particular: the group and the epoch of its frame are 0.
    Beat(Beat),
    /// The sender does not have the group, or not yet: what is said to it about the group is lost.
    NotOpen,
    /// The sender has the group from now on.
    Opened,
    /// A part of a state is asked for.
    FetchState(FetchState),
    /// A part of a state; its bytes follow the frame's sealed part.
    StateChunk(StateChunk),
}

/// What a shard tells every other node now and then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beat {
    /// The shard that beats.
    pub shard: u16,
    /// How many shards its node has.
    pub shards: u16,
    /// Which life of the node this is; never 0.
    pub incarnation: u64,
    /// Some of the groups that the shard is primary of; at most [`BEAT_ENTRIES_MAX`].
    pub entries: Vec<BeatEntry>,
}

/// What a beat says of one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BeatEntry {
    /// The group, never 0.
    pub group: u64,
    /// The view that the sender leads.
    pub view: View,
    /// What is committed.
    pub commit_max: Op,
    /// The last op of the log.
    pub head: Op,
}

/// Asks for a part of the state that was offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchState {
    /// Tells the answers from those to an earlier question.
    pub nonce: u64,
    /// Checksum of the last operation in the state.
    pub anchor: u128,
    /// The first byte that is wanted.
    pub position: u64,
    /// Purge generation of the messages that are here already.
    pub generation: u64,
    /// The first offset of that generation that is not here.
    pub offset: u64,
}

/// A part of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateChunk {
    /// That of the question.
    pub nonce: u64,
    /// Where in the state its bytes begin.
    pub position: u64,
    /// Bytes of the whole state; 0 if the sender does not keep that state any more.
    pub total: u64,
    /// XXH3-128 of its bytes, which are at most [`STATE_CHUNK_MAX`].
    pub checksum: u128,
    /// How many bytes it has.
    pub bytes: u32,
}

impl StateChunk {
    /// Whether it lies within the state, and brings that further unless it is the end.
    #[must_use]
    pub const fn is_sound(&self) -> bool {
        let last = self.position.saturating_add(self.bytes as u64);
        let moves = self.bytes > 0 || self.position == self.total;
        self.bytes as usize <= STATE_CHUNK_MAX && last <= self.total && moves
    }
}

impl Content {
    /// Whether it is about the group that its frame names.
    #[must_use]
    pub const fn is_of_a_group(&self) -> bool {
        !matches!(self, Self::Beat(_))
    }

    /// How many bytes follow the frame's sealed part.
    #[must_use]
    pub const fn payload_bytes(&self) -> u32 {
        match self {
            Self::Message(Message::Prepare(prepare)) => prepare.header.body_bytes,
            Self::StateChunk(chunk) => chunk.bytes,
            _ => 0,
        }
    }
}

impl From<Message> for Content {
    fn from(message: Message) -> Self {
        Self::Message(message)
    }
}
