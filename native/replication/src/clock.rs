//! The time of a turn: all work in one turn has the same time.

use ng_io::{Driver, Instant, WallMicros};
use ng_vsr::Ticks;

/// Nanoseconds per tick.
const MILLI: u64 = 1_000_000;

/// Time at the start of the turn.
#[derive(Debug)]
pub(crate) struct Clock {
    /// Never decreases, even if the driver's clock does.
    ticks: Ticks,
    instant: Instant,
    wall: WallMicros,
}

impl Clock {
    pub(crate) fn of(driver: &impl Driver) -> Self {
        let instant = driver.now();
        Self { ticks: ticks(instant), instant, wall: driver.wall() }
    }

    /// Reads the clocks at the start of a turn.
    pub(crate) fn turn(&mut self, driver: &impl Driver) {
        let Self { ticks, instant, wall } = Self::of(driver);
        *self = Self { ticks: ticks.max(self.ticks), instant, wall };
    }

    /// Sets the time of day for requests from now on.
    pub(crate) const fn set_wall(&mut self, wall: WallMicros) {
        self.wall = wall;
    }

    /// Milliseconds of the monotonic clock, the unit of the replicas.
    pub(crate) const fn ticks(&self) -> Ticks {
        self.ticks
    }

    pub(crate) const fn instant(&self) -> Instant {
        self.instant
    }

    /// Time of day, for the timestamps of messages.
    pub(crate) const fn wall(&self) -> WallMicros {
        self.wall
    }
}

/// Milliseconds of an instant.
pub(crate) const fn ticks(instant: Instant) -> Ticks {
    instant.as_nanos() / MILLI
}

/// First instant of a tick.
pub(crate) const fn instant(ticks: Ticks) -> Instant {
    Instant::from_nanos(ticks.saturating_mul(MILLI))
}
