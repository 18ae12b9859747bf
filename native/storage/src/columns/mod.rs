//! The messages of a segment as columns, laid out as Apache Arrow lays them out, in memory of the caller.
//!
//! Readers outside the broker come here: whatever is in the bytes, a row is written only from a batch that was verified,
//! and what is wrong is told with its position. Each call is bounded by its rows and by its piece.

mod arena;
mod decode;
mod headers;
mod layout;
mod seek;
mod walk;

pub use decode::{Decoded, Selection, decode};
pub(crate) use headers::{header_value, is_tombstone};
pub use layout::{BUFFERS, Columns, Layout, Place};
pub use seek::{Seat, seek};
pub use walk::{BATCH_BYTES_MAX, Stop, Walk};
