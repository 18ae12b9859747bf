//! Frames between the endpoints of a simulated world: lost, doubled, late, cut off.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::random::Random;

/// How the network behaves. Its default delivers everything once, at once, in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NetworkFaults {
    /// Frames in a thousand that never arrive.
    pub loss: u32,
    /// Frames in a thousand that arrive twice.
    pub duplication: u32,
    /// The shortest time that a frame is under way, in nanoseconds.
    pub delay_min: u64,
    /// The longest.
    pub delay_max: u64,
    /// Whether a frame may overtake another of the same pair. Over one TCP connection it may not.
    pub reorder: bool,
}

/// The network. The same calls with the same seed deliver the same frames at the same times.
#[derive(Debug)]
pub struct SimulatedNetwork {
    random: Random,
    weather: NetworkFaults,
    links: BTreeMap<(u8, u8), Link>,
    under_way: BinaryHeap<Reverse<Frame>>,
    sent: u64,
}

/// One direction of a pair.
#[derive(Debug, Default)]
struct Link {
    cut_until: u64,
    last_arrival: u64,
}

/// Ordered by arrival, then by sending; no two have the same number.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Frame {
    arrives: u64,
    number: u64,
    from: u8,
    to: u8,
    bytes: Vec<u8>,
}

impl SimulatedNetwork {
    /// A network without faults whose fate is `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            random: Random::new(seed),
            weather: NetworkFaults::default(),
            links: BTreeMap::new(),
            under_way: BinaryHeap::new(),
            sent: 0,
        }
    }

    /// Sets how frames fare that are sent from now on.
    pub fn set_weather(&mut self, weather: NetworkFaults) {
        self.weather = weather;
    }

    /// Sends a frame.
    pub fn send(&mut self, now: u64, from: u8, to: u8, bytes: Vec<u8>) {
        let weather = self.weather;
        let cut = self.links.entry((from, to)).or_default().cut_until > now;
        if cut || self.random.strikes(weather.loss) {
            return;
        }
        if self.random.strikes(weather.duplication) {
            self.dispatch(now, from, to, bytes.clone());
        }
        self.dispatch(now, from, to, bytes);
    }

    fn dispatch(&mut self, now: u64, from: u8, to: u8, bytes: Vec<u8>) {
        let spread = self.weather.delay_max.saturating_sub(self.weather.delay_min);
        let mut arrives = now + self.weather.delay_min + self.random.below(spread + 1);
        if !self.weather.reorder {
            let link = self.links.entry((from, to)).or_default();
            arrives = arrives.max(link.last_arrival);
            link.last_arrival = arrives;
        }
        self.sent += 1;
        self.under_way.push(Reverse(Frame { arrives, number: self.sent, from, to, bytes }));
    }

    /// Cuts one direction until then: what is under way is lost, and what is sent before then. A moment that has passed
    /// heals it.
    pub fn cut(&mut self, from: u8, to: u8, until: u64) {
        self.links.entry((from, to)).or_default().cut_until = until;
        self.under_way.retain(|Reverse(frame)| (frame.from, frame.to) != (from, to));
    }

    /// When the next frame arrives.
    #[must_use]
    pub fn next_arrival(&self) -> Option<u64> {
        self.under_way.peek().map(|Reverse(frame)| frame.arrives)
    }

    /// The next frame that has arrived by now: from whom, to whom, and its bytes.
    pub fn arrive(&mut self, now: u64) -> Option<(u8, u8, Vec<u8>)> {
        if self.next_arrival()? > now {
            return None;
        }
        self.under_way.pop().map(|Reverse(frame)| (frame.from, frame.to, frame.bytes))
    }
}
