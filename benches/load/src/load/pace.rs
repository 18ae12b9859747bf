//! When requests are due.

use std::time::{Duration, Instant};

use tokio::task::yield_now;

/// The times at which the requests of one client are due.
///
/// An open loop measures from these, so that a request which waits behind a slow one counts its waiting: else a server
/// that stands still would delay the measurements and not show in them.
pub(crate) struct Pace {
    next: Instant,
    distance: Option<Duration>,
}

impl Pace {
    /// Client `number` of `clients`; the requests of all come at even distances.
    pub(crate) fn new(began: Instant, rate: Option<f64>, number: u32, clients: u32) -> Self {
        let between = rate.map(|rate| Duration::from_secs_f64(1.0 / rate));
        let next = began + between.unwrap_or_default() * number;
        Self { next, distance: between.map(|between| between * clients) }
    }

    /// Waits until the next request is due; returns since when it is.
    pub(crate) async fn due(&mut self) -> Instant {
        let Some(distance) = self.distance else { return Instant::now() };
        let due = self.next;
        self.next += distance;
        // Timers of the runtime know only milliseconds, and the core is ours.
        while Instant::now() < due {
            yield_now().await;
        }
        due
    }
}
