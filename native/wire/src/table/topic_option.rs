//! The options of a topic, as described to clients.

use super::coded;

coded! {
    /// The kind byte in front of a key or value of an options block.
    pub enum ValueKind: u8 {
        /// UTF-8 text.
        Text = 2, "string";
        /// A byte, zero or one.
        Bool = 3, "bool";
        /// Four bytes.
        U32 = 11, "u32";
        /// Eight bytes.
        U64 = 12, "u64";
    }
}

/// The default of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultValue {
    /// Text.
    Text(&'static str),
    /// Yes or no.
    Bool(bool),
    /// A number of 32 bits.
    U32(u32),
    /// A number of 64 bits.
    U64(u64),
}

impl DefaultValue {
    /// The kind the value is written in.
    #[must_use]
    pub const fn kind(self) -> ValueKind {
        match self {
            Self::Text(_) => ValueKind::Text,
            Self::Bool(_) => ValueKind::Bool,
            Self::U32(_) => ValueKind::U32,
            Self::U64(_) => ValueKind::U64,
        }
    }
}

/// One option of a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopicOption {
    /// The key, 1 to 255 bytes.
    pub key: &'static str,
    /// The value a topic has without it.
    pub default: DefaultValue,
    /// Whether an existing topic can be given another value.
    pub updatable: bool,
    /// The meaning, in a sentence.
    pub sentence: &'static str,
}

/// No expiry, no limit of size.
const UNLIMITED: u64 = u64::MAX;

/// Every option, ascending by key.
pub const TOPIC_OPTIONS: &[TopicOption] = &[
    TopicOption {
        key: "compression_algorithm",
        default: DefaultValue::Text("none"),
        updatable: true,
        sentence: "The algorithm clients compress payloads with: none or gzip.",
    },
    TopicOption {
        key: "consumer_offset_durability",
        default: DefaultValue::Text("replicated"),
        updatable: false,
        sentence: "When a stored offset is confirmed: replicated (by a quorum) or persisted (on its disks).",
    },
    TopicOption {
        key: "durability",
        default: DefaultValue::Text("replicated"),
        updatable: false,
        sentence: "When messages are confirmed: replicated (by a quorum) or persisted (on its disks).",
    },
    TopicOption {
        key: "max_topic_size",
        default: DefaultValue::U64(UNLIMITED),
        updatable: true,
        sentence: "Bytes the topic may hold before its oldest segments go; the highest number is no limit.",
    },
    TopicOption {
        key: "message_expiry",
        default: DefaultValue::U64(UNLIMITED),
        updatable: true,
        sentence: "Microseconds a message is kept; the highest number is for ever.",
    },
    TopicOption {
        key: "messages_required_to_save",
        default: DefaultValue::U32(1024),
        updatable: false,
        sentence: "Kept and echoed; it changes nothing, since every acknowledged message is synced.",
    },
    TopicOption {
        key: "preallocate_segments",
        default: DefaultValue::Bool(false),
        updatable: false,
        sentence: "Whether a segment takes its full size on disk when it is made.",
    },
    TopicOption {
        key: "segment_size",
        default: DefaultValue::U64(1 << 30),
        updatable: false,
        sentence: "Bytes after which a segment is sealed: 1 MiB to 1 GiB, a multiple of 512.",
    },
    TopicOption {
        key: "size_of_messages_required_to_save",
        default: DefaultValue::U64(1 << 20),
        updatable: false,
        sentence: "Kept and echoed; it changes nothing, since every acknowledged byte is synced.",
    },
];
