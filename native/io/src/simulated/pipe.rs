//! One direction of a simulated stream: bytes in order, some time under way, no more than its buffer holds.

use std::collections::VecDeque;

use super::random::Random;

/// How streams behave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamWeather {
    /// The shortest time that bytes are under way, in nanoseconds.
    pub delay_min: u64,
    /// The longest.
    pub delay_max: u64,
    /// Bytes that a sender may have in one direction before its peer reads; at least one.
    pub buffer_bytes: usize,
    /// The largest piece that arrives at once; at least one.
    pub piece_max: usize,
}

impl Default for StreamWeather {
    fn default() -> Self {
        Self { delay_min: 1_000, delay_max: 100_000, buffer_bytes: 256 << 10, piece_max: 64 << 10 }
    }
}

#[derive(Debug, Default)]
pub(super) struct Pipe {
    /// Not read yet, by when they arrive.
    pieces: VecDeque<(u64, Vec<u8>)>,
    /// Bytes of the first piece that were read.
    read_of_first: usize,
    /// Bytes not read.
    held: usize,
    /// Bytes of the pieces that were sent, ever.
    sent: u64,
    last_arrival: u64,
    /// When the end of the stream arrives.
    ends: Option<u64>,
}

impl Pipe {
    /// Takes as many bytes as there is room for, and says how many these are.
    pub(super) fn send(
        &mut self,
        now: u64,
        bytes: &[u8],
        weather: &StreamWeather,
        random: &mut Random,
    ) -> usize {
        let room = weather.buffer_bytes.max(1).saturating_sub(self.held);
        let taken = &bytes[..bytes.len().min(room)];
        let mut rest = taken;
        while !rest.is_empty() {
            let most = u64::try_from(rest.len().min(weather.piece_max.max(1))).unwrap_or(u64::MAX);
            let length = usize::try_from(1 + random.below(most)).unwrap_or(1);
            let (piece, after) = rest.split_at(length);
            let arrives = self.arrival(now, weather, random);
            self.pieces.push_back((arrives, piece.to_vec()));
            rest = after;
        }
        self.held += taken.len();
        self.sent += taken.len() as u64;
        taken.len()
    }

    /// Nothing more is sent: the reader meets the end behind what is under way.
    pub(super) fn finish(&mut self, now: u64, weather: &StreamWeather, random: &mut Random) {
        if self.ends.is_none() {
            self.ends = Some(self.arrival(now, weather, random));
        }
    }

    /// A moment behind everything that was sent before.
    fn arrival(&mut self, now: u64, weather: &StreamWeather, random: &mut Random) -> u64 {
        let spread = weather.delay_max.saturating_sub(weather.delay_min);
        let arrives = now + weather.delay_min + random.below(spread + 1);
        self.last_arrival = arrives.max(self.last_arrival);
        self.last_arrival
    }

    pub(super) const fn is_finished(&self) -> bool {
        self.ends.is_some()
    }

    /// Hands out what has arrived, `most` bytes of it at most.
    pub(super) fn receive(&mut self, now: u64, most: usize, mut take: impl FnMut(&[u8])) -> usize {
        let mut received = 0;
        while received < most
            && let Some((arrives, piece)) = self.pieces.front()
            && *arrives <= now
        {
            let rest = &piece[self.read_of_first..];
            let count = rest.len().min(most - received);
            take(&rest[..count]);
            received += count;
            self.read_of_first += count;
            if self.read_of_first == piece.len() {
                self.pieces.pop_front();
                self.read_of_first = 0;
            }
        }
        self.held -= received;
        received
    }

    /// When so many unread bytes will have arrived, or the end of the stream.
    pub(super) fn arrives(&self, bytes: usize) -> Option<u64> {
        let mut arrived = 0;
        let front = self.read_of_first;
        for (index, (arrives, piece)) in self.pieces.iter().enumerate() {
            arrived += piece.len() - if index == 0 { front } else { 0 };
            if arrived >= bytes {
                return Some(*arrives);
            }
        }
        self.ends
    }

    /// Whether everything was read and the end has arrived.
    pub(super) fn is_at_end(&self, now: u64) -> bool {
        self.pieces.is_empty() && self.ends.is_some_and(|ends| ends <= now)
    }

    /// Whether bytes were sent that nobody has read.
    pub(super) const fn has_unread(&self) -> bool {
        self.held > 0
    }

    pub(super) const fn has_room(&self, weather: &StreamWeather) -> bool {
        self.held < weather.buffer_bytes || self.held == 0
    }

    /// Bytes that have arrived at the other side, read or not.
    pub(super) fn arrived(&self, now: u64) -> u64 {
        let under_way = self.pieces.iter().filter(|(arrives, _)| *arrives > now);
        self.sent - under_way.map(|(_, piece)| piece.len() as u64).sum::<u64>()
    }
}
