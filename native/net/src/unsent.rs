//! Replies that peers have not taken, and which peers are known to read.

/// A peer that took so much on one connection reads: its kernel and ours together hold less for one that does
/// not (Linux buffers up to 4 MiB to send and 6 MiB to receive, unless an administrator allows more).
pub(crate) const PROOF_BYTES: u64 = 16 << 20;

/// Bytes of replies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unsent {
    /// Of all peers.
    pub all: usize,
    /// Of peers that are not known to read.
    pub unproven: usize,
}

impl Unsent {
    /// So many more, of a peer that is known to read or not.
    pub fn add(&mut self, bytes: usize, proven: bool) {
        self.all += bytes;
        self.unproven += if proven { 0 } else { bytes };
    }

    /// So many less.
    pub fn remove(&mut self, bytes: usize, proven: bool) {
        self.all -= bytes;
        self.unproven -= if proven { 0 } else { bytes };
    }
}
