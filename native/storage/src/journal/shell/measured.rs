//! How large the blocks of a journal are, and how long their syncs take: one write and one sync are under way at a time.

use std::time::Duration;

use ng_io::Instant;
use ng_wire::table::scale::{BYTES, SECONDS, Tally};

/// What was measured since the start.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Microseconds until what was asked to be synced was.
    pub sync_micros: Tally,
    /// Bytes of the blocks.
    pub block_bytes: Tally,
    /// When the write under way began, if it ends with its sync.
    write_begun: Option<Instant>,
    sync_begun: Option<Instant>,
    recent_sync: Duration,
}

impl Default for Measured {
    fn default() -> Self {
        Self {
            sync_micros: Tally::new(&SECONDS),
            block_bytes: Tally::new(&BYTES),
            write_begun: None,
            sync_begun: None,
            recent_sync: Duration::ZERO,
        }
    }
}

impl Measured {
    /// How long a sync takes these days: a mean over about eight.
    #[must_use]
    pub const fn recent_sync(&self) -> Duration {
        self.recent_sync
    }

    pub(super) fn write_begins(&mut self, now: Instant, bytes: usize, sync: bool) {
        self.block_bytes.count(bytes as u64);
        self.write_begun = sync.then_some(now);
    }

    pub(super) const fn sync_begins(&mut self, now: Instant) {
        self.sync_begun = Some(now);
    }

    pub(super) fn written(&mut self, now: Instant) {
        let begun = self.write_begun.take();
        self.ended(begun, now);
    }

    pub(super) fn synced(&mut self, now: Instant) {
        let begun = self.sync_begun.take();
        self.ended(begun, now);
    }

    fn ended(&mut self, begun: Option<Instant>, now: Instant) {
        if let Some(begun) = begun {
            let took = now - begun;
            self.sync_micros.count(u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
            self.recent_sync = (self.recent_sync * 7 + took) / 8;
        }
    }
}
