//! What a shard has to say to the log: a bounded ring that loses the newest when nobody reads.

use ng_io::WallMicros;
use ng_wire::table::event::Event;
use rtrb::{Consumer, Producer, RingBuffer};

/// Events a shard keeps for a reader that is late. A stalled control plane loses what comes after, and the loss is
/// counted.
const EVENTS: usize = 256;

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedEvent {
    /// What happened.
    pub event: Event,
    /// Its numbers, in the order of the event's fields.
    pub fields: [u64; 2],
    /// When.
    pub wall: WallMicros,
}

/// The writing end.
#[derive(Debug)]
pub struct EventLog {
    ring: Producer<LoggedEvent>,
    told: u64,
    lost: u64,
}

/// Makes the ring of one shard.
pub fn event_ring() -> (EventLog, Consumer<LoggedEvent>) {
    let (ring, reader) = RingBuffer::new(EVENTS);
    (EventLog { ring, told: 0, lost: 0 }, reader)
}

impl EventLog {
    /// Writes one event, or counts it as lost.
    pub fn push(&mut self, event: Event, fields: [u64; 2], wall: WallMicros) {
        match self.ring.push(LoggedEvent { event, fields, wall }) {
            Ok(()) => self.told += 1,
            Err(_) => self.lost += 1,
        }
    }

    /// Events written since the start.
    pub fn told(&self) -> u64 {
        self.told
    }

    /// Events lost since the start.
    pub fn lost(&self) -> u64 {
        self.lost
    }
}
