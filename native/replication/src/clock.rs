//! The time of a turn: everything in one turn happens at the same moment.

use ng_io::{Driver, Instant, WallMicros};
use ng_vsr::Ticks;

/// Nanoseconds of a tick.
const MILLI: u64 = 1_000_000;

/// What the clocks showed when the turn began.
#[derive(Debug)]
pub(crate) struct Clock {
    /// Never less than before, whatever the driver says.
    ticks: Ticks,
    instant: Instant,
    wall: WallMicros,
}

impl Clock {
    pub(crate) fn of(driver: &impl Driver) -> Self {
        let instant = driver.now();
        Self { ticks: ticks(instant), instant, wall: driver.wall() }
    }

    /// A turn begins.
    pub(crate) fn turn(&mut self, driver: &impl Driver) {
        let Self { ticks, instant, wall } = Self::of(driver);
        *self = Self { ticks: ticks.max(self.ticks), instant, wall };
    }

    /// Requests come in at this time from now on.
    pub(crate) const fn set_wall(&mut self, wall: WallMicros) {
        self.wall = wall;
    }

    /// Milliseconds of the monotonic clock, which replicas count in.
    pub(crate) const fn ticks(&self) -> Ticks {
        self.ticks
    }

    pub(crate) const fn instant(&self) -> Instant {
        self.instant
    }

    /// The time of day, which messages are stamped with.
    pub(crate) const fn wall(&self) -> WallMicros {
        self.wall
    }
}

/// Milliseconds of an instant.
pub(crate) const fn ticks(instant: Instant) -> Ticks {
    instant.as_nanos() / MILLI
}

/// The first instant of a tick.
pub(crate) const fn instant(ticks: Ticks) -> Instant {
    Instant::from_nanos(ticks.saturating_mul(MILLI))
}
