//! Limits of one shard's connection table.

use std::time::Duration;

use ng_wire::frame::HEADER_BYTES;

/// Maximum bytes of a frame before login, header included. It bounds the memory of a connection without a
/// session.
pub const UNAUTHENTICATED_FRAME_BYTES_MAX: u32 = 8 * 1024;

/// Receive buffer of an idle connection. Whole pings and logins fit, and 10,000 idle sessions use about 10
/// MiB.
pub(crate) const INPUT_BYTES: usize = 1024;

/// Maximum usual frame size for which a connection keeps a receive buffer of that size. Longer frames need
/// two operations each, one for the header and one for the rest.
pub(crate) const INPUT_BYTES_HABITUAL_MAX: usize = 4 * 1024;

/// Delay between the start and the rest of a frame from which a delayed acknowledgement is suspected. Linux
/// delays by at least 40 ms, of which a part may pass before the start is noticed.
pub(crate) const ACKNOWLEDGEMENT_DELAY: Duration = Duration::from_millis(30);

/// Maximum frame that a delayed acknowledgement can stall: a header and one segment of the loopback
/// interface, which has the largest segments.
pub(crate) const STALLED_FRAME_BYTES_MAX: usize = 64 * 1024 + HEADER_BYTES;

/// Frames up to this size are received at any time, because there is at most one per connection.
pub(crate) const SMALL_FRAME_BYTES: usize = 16 * 1024;

/// No further request of a connection is served while this many reply bytes wait, so that a client that sends
/// but does not read stalls only itself. A connection holds this much in a send operation, this much after
/// it, and one largest reply. With the input this is below 16 KiB without a session, because such replies are
/// headers.
pub(crate) const OUTPUT_BYTES_HIGH: usize = 4 * 1024;

/// Maximum send buffers kept for later replies, because more connections rarely send in one turn.
pub(crate) const SPARE_OUTPUTS_MAX: usize = 64;

/// Capacity beyond which a spare send buffer is freed.
pub(crate) const SPARE_OUTPUT_BYTES_MAX: usize = 16 * 1024;

/// Time for which a closing connection continues to read after its last answer. Otherwise unread bytes would
/// turn the close into a reset, which destroys the answer on its way.
pub(crate) const LINGER: Duration = Duration::from_secs(1);

/// Time in which a peer may take nothing of a reply while the server stops: longer than any round trip, and
/// too short for an operator to notice.
pub(crate) const STOP_PATIENCE: Duration = Duration::from_secs(1);

/// Time in which a peer may take nothing of a reply while polls of others wait for memory: longer than a
/// round trip and the retransmission of a lost segment, and shorter than those polls wait.
pub(crate) const SHORT_PATIENCE: Duration = Duration::from_secs(2);

/// Like [`LINGER`] for every connection when the server stops: long enough for the peer to see the end of the
/// stream and close, and short enough for a stop in less than a second.
pub(crate) const STOP_LINGER: Duration = Duration::from_millis(100);

/// Limits of one shard's table, its share of the limits of the process.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum connections.
    pub connections_max: usize,
    /// Maximum connections without a session; beyond it the oldest is closed.
    pub strangers_max: usize,
    /// Maximum bytes of a frame, header included.
    pub frame_bytes_max: u32,
    /// Bytes before the kept part of a frame, from the start of a page.
    pub kept_front: usize,
    /// Time that a frame or a reply may take in addition to that for its size.
    pub frame_time: Duration,
    /// Time in which a peer may take nothing of a reply.
    pub send_timeout: Duration,
    /// Maximum bytes of long frames that arrive at the same time, on all connections. A single frame may
    /// exceed it; other requests get "busy" then.
    pub frame_memory_max: usize,
    /// Maximum bytes of spare memory kept for later frames.
    pub spare_memory_max: usize,
}

impl Limits {
    /// Maximum duration of a transfer of `bytes` bytes: the fixed time plus one second per KiB, which is a
    /// minimum rate of 1 KiB/s.
    pub fn allowance(&self, bytes: usize) -> Duration {
        self.frame_time.saturating_add(Duration::from_secs((bytes as u64).div_ceil(1024)))
    }
}
