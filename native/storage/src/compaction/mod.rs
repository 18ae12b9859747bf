//! What a compaction decides: which messages are about the same thing, and which of them is the newest.

mod identity;
mod json_pointer;
mod newest;
mod offsets;

pub(crate) use identity::Scratch;
pub use identity::{Identifier, KeyRule};
pub use newest::{Newest, Noted, TableFull, note};
pub use offsets::Ascending;
