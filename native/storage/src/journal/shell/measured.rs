//! How large the blocks of a journal are, and how long their syncs take: one write and one sync are under way at a time.

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
}

impl Default for Measured {
    fn default() -> Self {
        Self {
            sync_micros: Tally::new(&SECONDS),
            block_bytes: Tally::new(&BYTES),
            write_begun: None,
            sync_begun: None,
        }
    }
}

impl Measured {
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
            self.sync_micros.count(u64::try_from((now - begun).as_micros()).unwrap_or(u64::MAX));
        }
    }
}
