//! The time that the machines of one world share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A clock that stands until somebody moves it. A clone is the same clock.
#[derive(Clone, Debug, Default)]
pub struct SimulatedClock {
    nanos: Arc<AtomicU64>,
}

impl SimulatedClock {
    /// A clock at zero.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Nanoseconds since the world began.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.nanos.load(Ordering::Relaxed)
    }

    /// Moves the clock forward to `nanos`; it never goes back.
    pub fn advance_to(&self, nanos: u64) {
        self.nanos.fetch_max(nanos, Ordering::Relaxed);
    }
}

/// What one machine takes for the time.
#[derive(Debug)]
pub(super) struct MachineClock {
    shared: SimulatedClock,
    /// Nobody else moves the clock: waiting does.
    drives_itself: bool,
    /// Waiting moves this machine's own time ahead of the world's, until the world has caught up.
    pub(super) booting: bool,
    ahead_to: u64,
}

impl MachineClock {
    pub(super) fn own() -> Self {
        Self { shared: SimulatedClock::new(), drives_itself: true, booting: false, ahead_to: 0 }
    }

    pub(super) fn of_world(clock: &SimulatedClock) -> Self {
        Self { shared: clock.clone(), drives_itself: false, booting: false, ahead_to: 0 }
    }

    pub(super) fn now(&self) -> u64 {
        self.shared.now().max(self.ahead_to)
    }

    /// The time elsewhere.
    pub(super) fn world_now(&self) -> u64 {
        self.shared.now()
    }

    /// Whether waiting moves the time.
    pub(super) fn moves(&self) -> bool {
        self.drives_itself || self.booting
    }

    /// Somebody waits until then.
    pub(super) fn wait_until(&mut self, nanos: u64) {
        if self.drives_itself {
            self.shared.advance_to(nanos);
        } else if self.booting {
            self.ahead_to = self.now().max(nanos);
        }
    }
}
