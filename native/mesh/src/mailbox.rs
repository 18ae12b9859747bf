//! The mailboxes between shards: one bounded ring for every ordered pair.
//!
//! A ring has one writer and one reader, so a burst from one shard cannot displace another's frames. While a
//! ring is full, frames that must arrive wait in an outbox of the sender. Every frame in an outbox belongs to
//! a connection (at most one hand-over, one close and one answer) or to the control plane, so the connection
//! tables bound the outboxes.

use std::collections::VecDeque;
use std::sync::Arc;

use ng_control::shard_id::ShardId;
use ng_io::Waker;
use ng_wire::table::frame_drop::FrameVariant;
use rtrb::{Consumer, Producer, RingBuffer};

use crate::doorbell::{Doorbell, Wake};
use crate::frame::{Envelope, ShardFrame};

/// Maximum frames that wait for one ring. At most 1,000,000 connections have a hand-over, a close and an
/// answer each; the rest is for the control plane. If a bug exceeds the bound, the process ends, because it
/// would otherwise consume all memory.
const OUTBOX_MAX: usize = 1 << 22;

impl Wake for Waker {
    fn wake(&self) {
        Waker::wake(self);
    }
}

/// The doorbell of a shard thread.
pub type ShardBell = Doorbell<Waker>;

/// One shard's ends of all its rings.
#[derive(Debug)]
pub struct Mailboxes {
    own: ShardId,
    outgoing: Vec<Option<Outgoing>>,
    incoming: Vec<Option<Consumer<Envelope>>>,
    /// First ring of the next read. It rotates so that no sender is always last.
    turn: usize,
    rings: u64,
    #[cfg(feature = "plants")]
    plant: Option<ng_control::plant::Plant>,
}

#[derive(Debug)]
struct Outgoing {
    ring: Producer<Envelope>,
    outbox: VecDeque<Envelope>,
    /// The ring received frames since the last doorbell.
    touched: bool,
}

impl Outgoing {
    fn push(&mut self, envelope: Envelope) -> Result<(), Envelope> {
        match self.ring.push(envelope) {
            Ok(()) => {
                self.touched = true;
                Ok(())
            }
            Err(rtrb::PushError::Full(envelope)) => Err(envelope),
        }
    }

    /// Moves frames from the outbox into the ring until the ring is full.
    fn flush(&mut self) {
        while let Some(envelope) = self.outbox.pop_front() {
            if let Err(envelope) = self.push(envelope) {
                self.outbox.push_front(envelope);
                return;
            }
        }
    }
}

/// Makes the rings of `shards` shards, with `entries` entries each.
pub fn mesh(shards: u16, entries: usize) -> Vec<Mailboxes> {
    let mut all: Vec<Mailboxes> = (0..shards).map(|own| Mailboxes::empty(ShardId(own), shards)).collect();
    for from in 0..usize::from(shards) {
        for to in 0..usize::from(shards) {
            if from != to {
                let (ring, consumer) = RingBuffer::new(entries);
                all[from].outgoing[to] = Some(Outgoing { ring, outbox: VecDeque::new(), touched: false });
                all[to].incoming[from] = Some(consumer);
            }
        }
    }
    all
}

impl Mailboxes {
    fn empty(own: ShardId, shards: u16) -> Self {
        let rows = usize::from(shards);
        Self {
            own,
            outgoing: (0..rows).map(|_| None).collect(),
            incoming: (0..rows).map(|_| None).collect(),
            turn: 0,
            rings: 0,
            #[cfg(feature = "plants")]
            plant: None,
        }
    }

    /// The same mailboxes with a planted bug.
    #[cfg(feature = "plants")]
    #[must_use]
    pub fn planted(self, plant: Option<ng_control::plant::Plant>) -> Self {
        Self { plant, ..self }
    }

    /// Number of shards.
    pub fn shards(&self) -> u16 {
        u16::try_from(self.outgoing.len()).expect("made from a u16")
    }

    fn outgoing(&mut self, to: ShardId) -> &mut Outgoing {
        assert_ne!(to, self.own, "a shard does not write to itself");
        self.outgoing[to.index()].as_mut().expect("a ring exists for every ordered pair")
    }

    /// Sends a frame that may be refused. Returns it if the ring is full or the outbox has frames, because a
    /// frame must not overtake them.
    pub fn try_send(&mut self, to: ShardId, frame: ShardFrame) -> Result<(), ShardFrame> {
        let outgoing = self.outgoing(to);
        if !outgoing.outbox.is_empty() {
            return Err(frame);
        }
        outgoing.push(Envelope { to, frame }).map_err(|envelope| envelope.frame)
    }

    /// Sends a frame that must arrive: it waits in the outbox for room.
    pub fn send(&mut self, to: ShardId, frame: ShardFrame) {
        if let Err(frame) = self.try_send(to, frame) {
            #[cfg(feature = "plants")]
            if self.plant == Some(ng_control::plant::Plant::LostFrame) {
                return;
            }
            let outbox = &mut self.outgoing(to).outbox;
            assert!(outbox.len() < OUTBOX_MAX, "too many frames wait for shard {}", to.0);
            outbox.push_back(Envelope { to, frame });
        }
    }

    /// Takes the next frame, from each sender in turn.
    pub fn receive(&mut self) -> Option<Envelope> {
        let rows = self.incoming.len();
        for step in 0..rows {
            let row = (self.turn + step) % rows;
            if let Some(envelope) = self.incoming[row].as_mut().and_then(|ring| ring.pop().ok()) {
                self.turn = row + 1;
                return Some(envelope);
            }
        }
        None
    }

    /// No frame waits to be received.
    pub fn is_empty(&self) -> bool {
        self.incoming.iter().flatten().all(Consumer::is_empty)
    }

    /// Number of frames that wait to be received.
    pub fn waiting(&self) -> usize {
        self.incoming.iter().flatten().map(Consumer::slots).sum()
    }

    /// Frames wait for room in another shard's ring.
    pub fn is_blocked(&self) -> bool {
        self.outgoing.iter().flatten().any(|outgoing| !outgoing.outbox.is_empty())
    }

    /// Moves waiting frames into the rings, then wakes each receiver once, for any number of frames.
    pub fn flush(&mut self, bells: &[Arc<ShardBell>]) {
        for (outgoing, bell) in self.outgoing.iter_mut().zip(bells) {
            let Some(outgoing) = outgoing else { continue };
            outgoing.flush();
            if std::mem::take(&mut outgoing.touched) {
                self.rings += u64::from(bell.ring());
            }
        }
    }

    /// Drops the frames that wait for room, because the receivers have stopped. Returns the variant of each
    /// for the drop counter.
    pub fn discard_waiting(&mut self) -> Vec<FrameVariant> {
        let outboxes = self.outgoing.iter_mut().flatten().map(|outgoing| &mut outgoing.outbox);
        outboxes.flat_map(|outbox| outbox.drain(..)).map(|envelope| envelope.frame.variant()).collect()
    }

    /// Doorbells rung since the start.
    pub fn rings(&self) -> u64 {
        self.rings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Lifecycle;

    fn closed(client_id: u32) -> ShardFrame {
        ShardFrame::Lifecycle(Lifecycle::Closed { client_id })
    }

    fn client_id(envelope: &Envelope) -> u32 {
        match envelope.frame {
            ShardFrame::Lifecycle(Lifecycle::Closed { client_id }) => client_id,
            ref other => panic!("unexpected {other:?}"),
        }
    }

    #[test]
    fn every_ordered_pair_has_its_own_ring() {
        let mut all = mesh(4, 256);
        for from in 0..4u16 {
            for to in (0..4u16).filter(|to| *to != from) {
                all[usize::from(from)].send(ShardId(to), closed(u32::from(from) * 10 + u32::from(to)));
            }
        }
        for to in 0..4u16 {
            let mailboxes = &mut all[usize::from(to)];
            let mut got: Vec<u32> = std::iter::from_fn(|| mailboxes.receive())
                .inspect(|envelope| assert_eq!(envelope.to, ShardId(to)))
                .map(|envelope| client_id(&envelope))
                .collect();
            got.sort_unstable();
            let wanted: Vec<u32> =
                (0..4).filter(|from| *from != to).map(|from| u32::from(from) * 10 + u32::from(to)).collect();
            assert_eq!(got, wanted);
        }
    }

    #[test]
    fn a_full_ring_refuses_requests_and_keeps_the_others_in_order() {
        let mut all = mesh(2, 64);
        let (mut sender, mut receiver) = (all.remove(0), all.remove(0));
        for client_id in 0..64 {
            sender.try_send(ShardId(1), closed(client_id)).expect("room for 64");
        }
        assert!(sender.try_send(ShardId(1), closed(64)).is_err());
        sender.send(ShardId(1), closed(64));
        sender.send(ShardId(1), closed(65));
        assert_eq!((sender.waiting(), receiver.waiting()), (0, 64));
        assert!(sender.is_blocked());
        assert_eq!(receiver.receive().map(|envelope| client_id(&envelope)), Some(0));
        assert!(sender.try_send(ShardId(1), closed(99)).is_err(), "nothing overtakes the outbox");
        while sender.is_blocked() {
            assert!(receiver.receive().is_some());
            sender.flush(&[]);
            sender.outgoing(ShardId(1)).flush();
        }
        let rest: Vec<u32> =
            std::iter::from_fn(|| receiver.receive()).map(|envelope| client_id(&envelope)).collect();
        assert_eq!(rest.last(), Some(&65));
        assert!(rest.is_sorted());
    }

    #[test]
    fn frames_discarded_at_a_stop_are_reported_one_by_one() {
        let mut sender = mesh(3, 64).remove(0);
        for to in [1, 2] {
            for client_id in 0..67 {
                sender.send(ShardId(to), closed(client_id));
            }
        }
        assert_eq!(sender.discard_waiting(), [FrameVariant::ConnectionClosed; 6]);
        assert!(!sender.is_blocked() && sender.discard_waiting().is_empty());
    }

    #[test]
    fn a_busy_sender_does_not_starve_the_others() {
        let mut all = mesh(3, 64);
        let mut receiver = all.remove(0);
        for client_id in 0..60 {
            all[0].send(ShardId(0), closed(client_id));
        }
        all[1].send(ShardId(0), closed(1000));
        let first_three: Vec<u32> =
            (0..3).filter_map(|_| receiver.receive()).map(|e| client_id(&e)).collect();
        assert!(first_three.contains(&1000), "got {first_three:?}");
    }

    #[test]
    #[should_panic(expected = "too many frames wait for shard 1")]
    fn an_outbox_has_a_bound() {
        let mut sender = mesh(2, 64).remove(0);
        for client_id in 0.. {
            sender.send(ShardId(1), closed(client_id));
            assert!(client_id as usize <= 64 + OUTBOX_MAX);
        }
    }

    #[test]
    #[should_panic(expected = "a shard does not write to itself")]
    fn no_shard_writes_to_itself() {
        mesh(2, 64)[1].send(ShardId(1), closed(0));
    }
}
