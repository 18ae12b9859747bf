//! What a topic says of how long it keeps its messages.

use ng_io::simulated::Random;
use ng_replication::Keeping;
use ng_wire::primitive::{put_u8, put_u32, put_u64};
use ng_wire::request::OptionBlock;
use ng_wire::table::topic_option::ValueKind;

use crate::conditions::log_uniform;

const EXPIRY: &str = "message_expiry";
const SIZE: &str = "max_topic_size";

/// Limits of a topic; `u64::MAX` is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TopicLimits {
    /// Microseconds that a message is kept.
    pub(super) expiry: u64,
    /// Bytes that the topic may hold.
    pub(super) bytes_max: u64,
}

impl TopicLimits {
    pub(super) const NONE: Self = Self { expiry: u64::MAX, bytes_max: u64::MAX };

    /// By age, by size, by both or by neither.
    pub(super) fn draw(random: &mut Random, segment_bytes: u64) -> Self {
        let expiry = log_uniform(random, 50_000, 4_000_000);
        let bytes_max = segment_bytes * (1 + random.below(8));
        Self {
            expiry: if random.flip() { expiry } else { u64::MAX },
            bytes_max: if random.flip() { bytes_max } else { u64::MAX },
        }
    }

    /// Bytes that each of so many partitions may hold.
    pub(super) fn part(self, segment_bytes: u64, partitions: u32) -> u64 {
        Keeping::of_topic(segment_bytes, self.expiry, self.bytes_max, partitions).bytes_max
    }

    /// The options by which a client asks for them.
    pub(super) fn put(self, into: &mut Vec<u8>) {
        for (key, value) in [(EXPIRY, self.expiry), (SIZE, self.bytes_max)] {
            if value < u64::MAX {
                put_u8(into, ValueKind::Text.code());
                put_u32(into, u32::try_from(key.len()).expect("keys are short"));
                into.extend_from_slice(key.as_bytes());
                put_u8(into, ValueKind::U64.code());
                put_u32(into, 8);
                put_u64(into, value);
            }
        }
    }

    /// Those that a client asked for; nothing if they cannot be read.
    pub(super) fn read(options: OptionBlock<'_>) -> Option<Self> {
        let entries = options.entries().ok()?;
        let value = |key: &str| match entries.iter().find(|entry| entry.key == key) {
            Some(entry) => entry.value.try_into().ok().map(u64::from_le_bytes),
            None => Some(u64::MAX),
        };
        Some(Self { expiry: value(EXPIRY)?, bytes_max: value(SIZE)? })
    }
}
