//! Returns memory to the kernel that a shard has not used for a minute.

use std::time::Duration;

use ng_io::{Environment, Instant};
use ng_wire::table::memory_part::MemoryPart;
use ng_wire::table::metric::Cell;

use super::Shard;

/// Interval between calls that age memory: six per minute, as `ng_io::BufferPool` expects.
const PERIOD: Duration = Duration::from_secs(10);

/// Consecutive periods with little traffic that count as rest.
const REST_PERIODS: u32 = 6;

/// Maximum bytes of traffic in a period with little traffic.
const LITTLE_BYTES: u64 = 1 << 20;

/// Minimum bytes of freed memory, or of traffic since the last time, for which the allocator is asked to
/// return free pages.
const WORTH_BYTES: u64 = 8 << 20;

/// Times at which memory ages and the allocator is asked to return free pages.
#[derive(Debug)]
pub(super) struct Housekeeping {
    due: Instant,
    /// Bytes that connections transferred up to the last period.
    traffic: u64,
    /// Bytes that they transferred since the allocator was last asked.
    moved: u64,
    /// Consecutive periods with little traffic.
    quiet: u32,
}

impl Housekeeping {
    pub(super) const fn new(now: Instant) -> Self {
        Self { due: now, traffic: 0, moved: 0, quiet: 0 }
    }

    /// Ends a period in which `freed` bytes were freed. Returns true if the allocator must be asked: after a
    /// burst when the shard rests, or when much was freed at once.
    fn period_ends(&mut self, traffic: u64, freed: u64) -> bool {
        let moved = traffic - self.traffic;
        self.traffic = traffic;
        self.moved += moved;
        self.quiet = if moved < LITTLE_BYTES { self.quiet.saturating_add(1) } else { 0 };
        let rests = self.quiet >= REST_PERIODS && (self.moved >= WORTH_BYTES || freed > 0);
        let asked = rests || freed >= WORTH_BYTES;
        if asked {
            self.moved = 0;
        }
        asked
    }
}

impl<E: Environment> Shard<E> {
    /// Ages memory once per period.
    pub(super) fn keep_house(&mut self) {
        if self.handler.now < self.housekeeping.due {
            return;
        }
        self.housekeeping.due = self.handler.now + PERIOD;
        let freed = self.connections.age_memory() + self.log.age_memory();
        let traffic = self.connections.traffic();
        if self.housekeeping.period_ends(traffic.bytes_received + traffic.bytes_sent, freed as u64) {
            ng_io::memory::release_free_pages();
        }
        let metrics = &self.handler.metrics;
        for part in MemoryPart::ALL {
            metrics.set(Cell::memory_budget(*part), self.handler.memory.of(*part) as u64);
        }
        let spares = self.connections.spare_bytes() + self.log.memory_figures().spares;
        metrics.set(Cell::memory_used(MemoryPart::Spares), spares as u64);
    }

    /// Publishes the memory of the other parts.
    pub(super) fn publish_memory(&self) {
        let figures = self.log.memory_figures();
        for (part, bytes) in [
            (MemoryPart::PollCache, figures.poll_cache),
            (MemoryPart::PollReads, figures.poll_reads),
            (MemoryPart::Replies, self.handler.replies.used()),
            (MemoryPart::Unflushed, figures.unflushed),
            (MemoryPart::Connections, self.connections.frame_bytes()),
        ] {
            self.handler.metrics.set(Cell::memory_used(part), bytes as u64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BURST: u64 = 100 << 20;

    fn rested(housekeeping: &mut Housekeeping, traffic: u64) -> usize {
        (1..=20).find(|_| housekeeping.period_ends(traffic, 0)).unwrap_or(0)
    }

    #[test]
    fn the_allocator_is_asked_once_after_a_burst_and_a_minute_of_rest() {
        let mut housekeeping = Housekeeping::new(Instant::from_nanos(0));
        assert_eq!(rested(&mut housekeeping, 0), 0, "nothing was ever used");
        assert!(!housekeeping.period_ends(BURST, 0));
        assert_eq!(rested(&mut housekeeping, BURST), REST_PERIODS as usize);
        assert_eq!(rested(&mut housekeeping, BURST), 0);
    }

    #[test]
    fn under_load_it_is_asked_only_when_much_was_freed() {
        let mut housekeeping = Housekeeping::new(Instant::from_nanos(0));
        assert!((1..50).all(|period| !housekeeping.period_ends(period * BURST, 1)));
        assert!(housekeeping.period_ends(50 * BURST, WORTH_BYTES));
    }
}
