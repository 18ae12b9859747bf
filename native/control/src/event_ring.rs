//! The events of one shard on their way to Python: a bounded ring that drops the newest events when it is
//! full.

use ng_io::WallMicros;
use ng_wire::table::event::{Event, EventLevel};
use rtrb::{Consumer, Producer, RingBuffer};

/// Capacity of the ring. If the control plane stalls, later events are dropped and counted.
const EVENTS: usize = 256;

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedEvent {
    /// Kind of event.
    pub event: Event,
    /// Numbers of the event, in the order of its fields.
    pub fields: [u64; 2],
    /// Time of the event.
    pub wall: WallMicros,
}

/// The writing end.
#[derive(Debug)]
pub struct EventRing {
    ring: Producer<LoggedEvent>,
    told: u64,
    lost: u64,
}

/// Makes the ring of one shard.
pub fn event_ring() -> (EventRing, Consumer<LoggedEvent>) {
    let (ring, reader) = RingBuffer::new(EVENTS);
    (EventRing { ring, told: 0, lost: 0 }, reader)
}

impl EventRing {
    /// Writes one event, or counts it as lost. Debug events may fill only half of the ring, because clients
    /// cause them: otherwise a thousand disconnects could displace a warning.
    pub fn push(&mut self, event: Event, fields: [u64; 2], wall: WallMicros) {
        if event.row().level == EventLevel::Debug && self.ring.slots() <= EVENTS / 2 {
            return;
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_for_debugging_leave_half_of_the_ring_and_are_not_lost_ones() {
        let (mut log, mut reader) = event_ring();
        for port in 0..EVENTS as u64 {
            log.push(Event::ClientDisconnected, [port, 0], WallMicros(1));
        }
        assert_eq!((log.told(), log.lost()), (EVENTS as u64 / 2, 0));
        for shard in 0..EVENTS as u64 {
            log.push(Event::ShardStopped, [shard, 0], WallMicros(1));
        }
        assert_eq!((log.told(), log.lost()), (EVENTS as u64, EVENTS as u64 / 2));
        reader.pop().expect("the ring is full");
        log.push(Event::ClientDisconnected, [0, 0], WallMicros(1));
        assert_eq!(log.told(), EVENTS as u64);
    }
}
