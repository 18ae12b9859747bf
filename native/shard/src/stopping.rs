//! How a node's stop goes, as its threads see it.

use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};

use ng_io::Instant;

/// Shared by the shards and whoever stops them.
#[derive(Debug)]
pub struct Stopping {
    began: AtomicBool,
    /// Nanoseconds of the instant from which nothing is waited for any more; written before `began`.
    drain_deadline: AtomicU64,
    shards: u16,
    finished: AtomicU16,
    /// Somebody was owed an answer when time was up.
    cut: AtomicBool,
}

impl Stopping {
    /// Of a node that runs.
    pub fn new(shards: u16) -> Self {
        Self {
            began: AtomicBool::new(false),
            drain_deadline: AtomicU64::new(0),
            shards,
            finished: AtomicU16::new(0),
            cut: AtomicBool::new(false),
        }
    }

    /// Begins the stop. The first call's deadline counts.
    pub fn begin(&self, drain_deadline: Instant) {
        let deadline = drain_deadline.as_nanos().max(1);
        let first = self.drain_deadline.compare_exchange(0, deadline, Ordering::Relaxed, Ordering::Relaxed);
        if first.is_ok() {
            self.began.store(true, Ordering::Release);
        }
    }

    /// Whether the stop has begun.
    pub fn began(&self) -> bool {
        self.began.load(Ordering::Acquire)
    }

    /// When answers still owed are given up. Meaningful once the stop has begun.
    pub fn drain_deadline(&self) -> Instant {
        Instant::from_nanos(self.drain_deadline.load(Ordering::Relaxed))
    }

    /// Answers that were owed have been given up.
    pub fn cut(&self) {
        self.cut.store(true, Ordering::Relaxed);
    }

    /// Whether every answer was given.
    pub fn was_complete(&self) -> bool {
        !self.cut.load(Ordering::Relaxed)
    }

    /// A shard other than the first has left its loop.
    pub fn finish(&self) {
        self.finished.fetch_add(1, Ordering::AcqRel);
    }

    /// Whether every shard but the first has.
    pub fn others_finished(&self) -> bool {
        self.finished.load(Ordering::Acquire) + 1 >= self.shards
    }
}
