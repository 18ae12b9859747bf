//! Progress of a node's stop, shared by its threads.

use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};

use ng_io::Instant;

/// Shared by the shards and the caller that stops them.
#[derive(Debug)]
pub struct Stopping {
    began: AtomicBool,
    /// Nanoseconds of the time at which the stop waits no longer; written before `began`.
    drain_deadline: AtomicU64,
    shards: u16,
    finished: AtomicU16,
    /// A client was owed an answer at the deadline.
    cut: AtomicBool,
}

impl Stopping {
    /// A node that runs.
    pub fn new(shards: u16) -> Self {
        Self {
            began: AtomicBool::new(false),
            drain_deadline: AtomicU64::new(0),
            shards,
            finished: AtomicU16::new(0),
            cut: AtomicBool::new(false),
        }
    }

    /// Begins the stop. Only the first call sets the deadline.
    pub fn begin(&self, drain_deadline: Instant) {
        let deadline = drain_deadline.as_nanos().max(1);
        let first = self.drain_deadline.compare_exchange(0, deadline, Ordering::Relaxed, Ordering::Relaxed);
        if first.is_ok() {
            self.began.store(true, Ordering::Release);
        }
    }

    /// The stop has begun.
    pub fn began(&self) -> bool {
        self.began.load(Ordering::Acquire)
    }

    /// Time at which owed answers are dropped. Valid once the stop has begun.
    pub fn drain_deadline(&self) -> Instant {
        Instant::from_nanos(self.drain_deadline.load(Ordering::Relaxed))
    }

    /// Records that owed answers were dropped.
    pub fn cut(&self) {
        self.cut.store(true, Ordering::Relaxed);
    }

    /// Every answer was given.
    pub fn was_complete(&self) -> bool {
        !self.cut.load(Ordering::Relaxed)
    }

    /// Records that a shard other than shard 0 has left its loop.
    pub fn finish(&self) {
        self.finished.fetch_add(1, Ordering::AcqRel);
    }

    /// Every shard other than shard 0 has left its loop.
    pub fn others_finished(&self) -> bool {
        self.finished.load(Ordering::Acquire) + 1 >= self.shards
    }
}
