//! Batches of messages: a header of 256 bytes, then the messages, as producers send them, as the primary
//! stamps them, as segments keep them and as consumers get them.
//!
//! The payload is hashed once, in [`verify`]: the checksum of the batch covers those of its messages, so that
//! [`stamp`] and [`slice()`] change the header and never look at a payload again.

mod build;
mod header;
mod message;
mod pick;
mod refusal;
mod seal;
mod slice;
mod stamp;
mod user_headers;
mod verify;

pub use build::{BatchBuilder, build};
pub use header::{BATCH_HEADER_BYTES, BatchHeader};
pub use message::{MESSAGE_HEADER_BYTES, MessageFrame, Messages};
pub use pick::{Picked, pick};
pub use refusal::{BatchPart, BatchRefusal};
pub use slice::{Sliced, Wanted, slice};
pub use stamp::stamp;
pub use user_headers::{HeaderField, KIND_BOOL, KIND_STRING, UserHeader, UserHeaders};
pub use verify::{Payloads, Verified, survey, verify, verify_each, verify_front};
