//! Bounds of one shard's connection table.

use std::time::Duration;

use ng_wire::frame::HEADER_BYTES;

/// The largest frame a connection may send before login, header included: it bounds the memory that a
/// connection can take before it has a session.
pub const UNAUTHENTICATED_FRAME_BYTES_MAX: u32 = 8 * 1024;

/// Receive buffer of a connection with no frame in progress: whole pings and logins fit, and 10,000 idle
/// sessions stay near 10 MiB.
pub(crate) const INPUT_BYTES: usize = 1024;

/// Who sends frames up to this size gets a receive buffer that takes the next one whole; longer ones take two
/// operations each, for what tells of them and for the rest.
pub(crate) const INPUT_BYTES_HABITUAL_MAX: usize = 4 * 1024;

/// A rest that arrives this long after the start of its frame arrives after Linux's shortest delayed
/// acknowledgement, 40 ms, of which a part may have passed before the start was noticed.
pub(crate) const ACKNOWLEDGEMENT_DELAY: Duration = Duration::from_millis(30);

/// The longest frame that a delayed acknowledgement can stall: one segment of the loopback interface, the
/// largest there is, behind a header.
pub(crate) const STALLED_FRAME_BYTES_MAX: usize = 64 * 1024 + HEADER_BYTES;

/// Frames up to this size are received whatever other connections hold: there are no more of them than
/// connections.
pub(crate) const SMALL_FRAME_BYTES: usize = 16 * 1024;

/// No further request of a connection is served while this many reply bytes wait to be sent: a client that
/// sends but does not read stalls itself. It holds this much on its way, as much behind it, and one largest
/// reply of ours: with the input below 16 KiB for a connection without a session, whose replies are headers.
pub(crate) const OUTPUT_BYTES_HIGH: usize = 4 * 1024;

/// Send buffers kept for the next reply; more than this many connections rarely send in one turn.
pub(crate) const SPARE_OUTPUTS_MAX: usize = 64;

/// A spare send buffer that grew beyond this is given back to the allocator.
pub(crate) const SPARE_OUTPUT_BYTES_MAX: usize = 16 * 1024;

/// How long a connection that is being closed after a last answer goes on reading, so that unread bytes do
/// not turn the close into a reset that destroys the answer on its way.
pub(crate) const LINGER: Duration = Duration::from_secs(1);

/// How long a peer may take nothing of a reply when the server stops: longer than a round trip to anywhere,
/// and no delay that an operator notices.
pub(crate) const STOP_PATIENCE: Duration = Duration::from_secs(1);

/// How long a peer may take nothing of a reply while polls of others wait for the memory: longer than a round
/// trip and the retransmission of a lost segment, and shorter than those polls wait.
pub(crate) const SHORT_PATIENCE: Duration = Duration::from_secs(2);

/// The same as [`LINGER`] for every connection when the server stops: long enough for the peer to see the end
/// of the stream and close, short enough for a stop that takes no second.
pub(crate) const STOP_LINGER: Duration = Duration::from_millis(100);

/// Bounds of one shard's table, its share of the process-wide ones.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections this shard holds.
    pub connections_max: usize,
    /// Connections without a session; past it the oldest of them is closed.
    pub strangers_max: usize,
    /// The largest frame, header included.
    pub frame_bytes_max: u32,
    /// Bytes that what is kept of a frame has in front of it, counted from the start of a page.
    pub kept_front: usize,
    /// What a started frame, or a reply on its way out, may take before its size counts.
    pub frame_time: Duration,
    /// How long a peer may take nothing of a reply that is on its way to it.
    pub send_timeout: Duration,
    /// Bytes of longer frames that may arrive at a time, on all connections. One such frame is received even
    /// if it exceeds this by itself; others are answered with "busy" then.
    pub frame_memory_max: usize,
    /// Bytes of spare memory that is kept for frames to come.
    pub spare_memory_max: usize,
}

impl Limits {
    /// How long a transfer of `bytes` may take: the fixed part and one second per KiB, a floor of 1 KiB/s.
    pub fn allowance(&self, bytes: usize) -> Duration {
        self.frame_time.saturating_add(Duration::from_secs((bytes as u64).div_ceil(1024)))
    }
}
