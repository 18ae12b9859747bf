//! Bytes of replies that peers have not taken, with those of peers that are not known to read.

/// Bytes after which a peer is known to read. Its kernel and ours together buffer less for a peer that does
/// not read (Linux buffers up to 4 MiB to send and 6 MiB to receive, unless an administrator allows more).
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
    /// Adds bytes of a peer; `proven` if it is known to read.
    pub fn add(&mut self, bytes: usize, proven: bool) {
        self.all += bytes;
        self.unproven += if proven { 0 } else { bytes };
    }

    /// Removes bytes of a peer; `proven` as when they were added.
    pub fn remove(&mut self, bytes: usize, proven: bool) {
        self.all -= bytes;
        self.unproven -= if proven { 0 } else { bytes };
    }
}
