//! What replicas say to each other: values, and the frames that carry them. `REPLICA.md` has the byte tables.

mod body_check;
mod checksum;
mod command;
mod content;
mod frame;
mod identity;
mod message;
mod operation;
mod partition_op;
mod partition_reply;
mod prepare;
mod swap;
mod vote;

pub use body_check::{BodyCheck, body_checksum};
pub use checksum::xxh3_128;
pub use content::{
    BEAT_ENTRIES_MAX, Beat, BeatEntry, Content, FetchState, SHARDS_MAX, STATE_CHUNK_MAX, StateChunk,
};
pub use frame::{
    FRAME_HEADER_BYTES, Frame, FrameRefusal, REPLICA_FRAME_VERSION, encode_frame, frame_size, sealed_bytes,
};
pub use identity::{Op, View};
pub use message::{
    Commit, DoViewChange, Message, Prepare, PrepareOk, Probe, ProbeReply, RequestPrepares, RequestStartView,
    StartView, StartViewChange, TransferOffer,
};
pub use operation::{LogOperation, Plane};
pub use partition_op::{ConsumerKind, OffsetWrite, OffsetWrites, PartitionOp, offsets_body};
pub use partition_reply::{OffsetRefusal, PartitionReply, RefusedOffset, Rejection};
pub use prepare::{Level, PREPARE_HEADER_BYTES, PrepareHeader, PrepareRefusal};
pub use swap::{SWAP_SEGMENTS_MAX, Swap, SwapInput, SwapOutput, swap_body};
pub use vote::{SUFFIX_MAX, Standing, SuffixEntry, Tail};
