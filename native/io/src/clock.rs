//! Points in time: a monotonic one for deadlines, a wall one for stamps that leave the process.

use std::ops::{Add, Sub};
use std::time::Duration;

use rustix::time::{ClockId, Timespec, clock_gettime};

/// Nanoseconds on a monotonic clock whose origin is arbitrary; comparable only within one environment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

impl Instant {
    /// A point so late that no deadline lies beyond it: 584 years after the origin.
    pub const FAR_FUTURE: Self = Self(u64::MAX);

    /// The instant `nanos` nanoseconds after the origin.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the origin.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The time from `earlier` to `self`, zero if `earlier` is in fact later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// Saturates at [`Instant::FAR_FUTURE`].
impl Add<Duration> for Instant {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(nanos_of(duration)))
    }
}

/// Saturates at the origin.
impl Sub<Duration> for Instant {
    type Output = Self;

    fn sub(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(nanos_of(duration)))
    }
}

/// The same as [`Instant::since`]: never negative.
impl Sub for Instant {
    type Output = Duration;

    fn sub(self, earlier: Self) -> Duration {
        self.since(earlier)
    }
}

/// Microseconds since the Unix epoch, as the wire carries them; may jump when the machine's clock is set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WallMicros(pub u64);

/// Reads the machine's monotonic clock.
pub(crate) fn monotonic_now() -> Instant {
    Instant(nanos_of(duration_of(clock_gettime(ClockId::Monotonic))))
}

/// Reads the machine's wall clock; a clock set before 1970 reads as 1970.
pub(crate) fn wall_now() -> WallMicros {
    let since_epoch = duration_of(clock_gettime(ClockId::Realtime));
    WallMicros(u64::try_from(since_epoch.as_micros()).unwrap_or(u64::MAX))
}

/// The time left until `deadline`, cut at a day: no kernel refuses that, and a driver may wake early.
pub(crate) fn time_left(deadline: Instant) -> Duration {
    deadline.since(monotonic_now()).min(Duration::from_secs(86_400))
}

fn duration_of(time: Timespec) -> Duration {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u32::try_from(time.tv_nsec).unwrap_or(0);
    Duration::new(seconds, nanos)
}

fn nanos_of(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates_at_both_ends() {
        let start = Instant::from_nanos(10);
        assert_eq!(start + Duration::MAX, Instant::FAR_FUTURE);
        assert_eq!(start - Duration::from_secs(1), Instant::from_nanos(0));
        assert_eq!(Instant::from_nanos(3) - start, Duration::ZERO);
        assert_eq!((start + Duration::from_nanos(7)) - start, Duration::from_nanos(7));
    }

    #[test]
    fn the_monotonic_clock_never_steps_back() {
        let mut last = monotonic_now();
        for _ in 0..1_000 {
            let now = monotonic_now();
            assert!(now >= last);
            last = now;
        }
    }

    #[test]
    fn an_endless_sleep_is_cut_at_a_day_and_a_passed_deadline_is_no_sleep() {
        assert_eq!(time_left(Instant::FAR_FUTURE), Duration::from_secs(86_400));
        assert_eq!(time_left(Instant::from_nanos(0)), Duration::ZERO);
    }
}
