//! What a message is about: its key, by the rule of a topic.

use ng_wire::batch::MessageFrame;

use super::json_pointer;
use crate::columns::header_value;

/// Where the key of a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyRule<'a> {
    /// Messages have no keys.
    Nothing,
    /// The value of the first user header of that name.
    Header(&'a [u8]),
    /// The id that its producer gave it.
    Id,
    /// The text, number or truth value at a pointer (RFC 6901) into its payload.
    Json(&'a str),
}

impl<'a> KeyRule<'a> {
    /// The rule that a text names: `none`, `id`, `header:NAME` or `json:/PATH`.
    #[must_use]
    pub fn of(text: &'a str) -> Option<Self> {
        match text {
            "none" => return Some(Self::Nothing),
            "id" => return Some(Self::Id),
            _ => {}
        }
        match text.split_once(':')? {
            ("header", name) if !name.is_empty() => Some(Self::Header(name.as_bytes())),
            ("json", pointer) if pointer.is_empty() || pointer.starts_with('/') => Some(Self::Json(pointer)),
            _ => None,
        }
    }

    /// The key of a message; `scratch` is where one is put together that does not stand anywhere as it is.
    pub(crate) fn key<'m>(&self, message: &MessageFrame<'m>, scratch: &'m mut Scratch) -> Option<&'m [u8]> {
        match self {
            Self::Nothing => None,
            Self::Header(name) => header_value(message.user_headers, name),
            Self::Id => {
                scratch.id = message.id.to_be_bytes();
                Some(&scratch.id)
            }
            Self::Json(pointer) => json_pointer::find(message.payload, pointer)?.bytes(&mut scratch.text),
        }
    }
}

/// Room for a key.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    id: [u8; 16],
    text: Vec<u8>,
}

/// What tells the messages that a compaction holds for the same from all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity<'m> {
    /// Bytes of different spaces are never the same thing.
    pub(crate) space: u8,
    pub(crate) bytes: &'m [u8],
}

const KEYS: u8 = 0;
/// Of messages without a key.
const IDS: u8 = 1;

/// How messages are identified.
#[derive(Clone, Copy, Debug)]
pub struct Identifier<'a> {
    /// By their keys.
    pub rule: KeyRule<'a>,
    /// Those without a key by their ids.
    pub by_id: bool,
}

impl Identifier<'_> {
    /// What a message is about; `None` for one that is like no other.
    pub(crate) fn identity<'m>(
        &self,
        message: &MessageFrame<'m>,
        scratch: &'m mut Scratch,
        id: &'m mut [u8; 16],
    ) -> Option<Identity<'m>> {
        if let Some(key) = self.rule.key(message, scratch) {
            return Some(Identity { space: KEYS, bytes: key });
        }
        *id = message.id.to_be_bytes();
        self.by_id.then_some(Identity { space: IDS, bytes: id })
    }
}

impl Identity<'_> {
    /// Whether it is a key, so that a tombstone can delete it.
    pub(crate) const fn is_key(&self) -> bool {
        self.space == KEYS
    }
}
