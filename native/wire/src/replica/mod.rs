//! What replicas say to each other: values, and the frames that carry them. `REPLICA.md` has the byte tables.

mod checksum;
mod frame;
mod identity;
mod message;
mod operation;
mod prepare;
mod vote;

pub use checksum::xxh3_128;
pub use frame::{
    FRAME_HEADER_BYTES, Frame, FrameRefusal, REPLICA_FRAME_VERSION, encode_frame, frame_size, sealed_bytes,
};
pub use identity::{Op, View};
pub use message::{
    Commit, DoViewChange, Message, Prepare, PrepareOk, Probe, ProbeReply, RequestPrepares, RequestStartView,
    StartView, StartViewChange, TransferOffer,
};
pub use operation::{LogOperation, Plane};
pub use prepare::{Level, PREPARE_HEADER_BYTES, PrepareHeader, PrepareRefusal};
pub use vote::{SUFFIX_MAX, Standing, SuffixEntry, Tail};
