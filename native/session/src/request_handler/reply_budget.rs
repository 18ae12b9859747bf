//! Memory for replies to polls: what one may have, and whose must wait.
//!
//! A client that asks for much and does not read holds its reply until its connection is closed. So clients
//! that are not known to read share a part of the budget among themselves: however many there are, those that
//! read find room.

use ng_net::Peer;
use ng_net::connection::Promise;
use ng_net::unsent::Unsent;
use ng_wire::frame::HEADER_BYTES;
use ng_wire::reply::POLL_HEADER_BYTES;

/// The least that is worth a reply: every client gets it sooner than it is told to wait for those that do not
/// read.
const LEAST: usize = 16 * 1024;

/// What a poll gets at least where nothing but other polls in flight stands against it, and the budget is
/// large.
const ORDINARY_MAX: usize = 2 << 20;

/// The budget has room for so many ordinary replies.
const ORDINARY_PARTS: usize = 512;

/// One reply to a client that reads has at most one part in so many of what is left, so that those that
/// follow have room. While others are under way, a part of the budget in so many is left to ordinary replies:
/// more than a hundred at a time.
const PROVEN_PARTS: usize = 4;

/// One reply to a client that is not known to read has at most one part in so many of the budget, because the
/// first poll of a connection is such a reply. Once others have as much, none exceeds an ordinary one.
const UNPROVEN_PARTS: usize = 4;

/// What the replies of a shard hold.
#[derive(Debug)]
pub struct ReplyBudget {
    /// What all replies may have.
    bytes_max: usize,
    /// What one reply may have at most.
    each_max: usize,
    /// Bytes that are written and that the kernel has not taken.
    pub unsent: Unsent,
    /// Bytes that replies under way may have.
    promised: Unsent,
}

impl ReplyBudget {
    /// Nothing is promised yet.
    pub const fn new(bytes_max: usize, each_max: usize) -> Self {
        let none = Unsent { all: 0, unproven: 0 };
        Self { bytes_max, each_max, unsent: none, promised: none }
    }

    /// Bytes that are held now, or will be.
    pub const fn used(&self) -> usize {
        self.unsent.all + self.promised.all
    }

    /// Promises room for the messages of a reply to a poll, at most as many bytes as a frame for this client
    /// has besides its headers. Without room the poll has to wait, until others are answered or clients take
    /// what they asked for.
    pub fn promise(&mut self, peer: &mut Peer) -> Option<usize> {
        let largest = peer.reply_bytes_max as usize - HEADER_BYTES - POLL_HEADER_BYTES;
        let bytes = self.size_for(peer.is_proven, largest.min(self.each_max))?;
        let promise = Promise { bytes, is_proven: peer.is_proven };
        debug_assert_eq!(peer.promise, Promise::default(), "one poll of a connection at a time");
        self.promised.add(promise.bytes, promise.is_proven);
        peer.promise = promise;
        Some(bytes)
    }

    fn size_for(&self, is_proven: bool, largest: usize) -> Option<usize> {
        let ordinary = (self.bytes_max / ORDINARY_PARTS).clamp(LEAST, ORDINARY_MAX);
        let left = self.bytes_max.saturating_sub(self.used());
        let unproven = self.unsent.unproven + self.promised.unproven;
        let (generous, room, room_for_least) = if is_proven {
            let kept = if self.promised.all == 0 { 0 } else { self.bytes_max / PROVEN_PARTS };
            (left.saturating_sub(kept) / PROVEN_PARTS, left, left)
        } else {
            let of = |part: usize| part.saturating_sub(unproven).min(left);
            // Three quarters are the most that those who may not read have among them.
            let (half, most) = (self.bytes_max / 2, self.bytes_max / 4 * 3);
            (of(self.bytes_max / UNPROVEN_PARTS), of(half), of(most))
        };
        let wanted = generous.max(ordinary).min(largest);
        if wanted <= room {
            return Some(wanted);
        }
        // Polls under way end soon, and are better waited for than a small reply. Those that do not read may
        // never end.
        let in_flight = if is_proven { self.promised.all } else { self.promised.unproven };
        let least = LEAST.min(largest);
        (in_flight == 0 && least <= room_for_least).then_some(least)
    }

    /// The reply was written, or nobody waits for it.
    pub(super) fn release(&mut self, promise: Promise) {
        self.promised.remove(promise.bytes, promise.is_proven);
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr};

    use ng_wire::frame::{FRAME_BYTES_MAX, LARGE_REPLY_BYTES_MAX};
    use proptest::prelude::*;

    use super::*;

    const LARGEST: usize = 128 << 20;
    const BUDGET: usize = 512 << 20;
    const HEADERS: usize = HEADER_BYTES + POLL_HEADER_BYTES;
    const SMALL: usize = 16 << 20;

    fn peer(is_proven: bool) -> Peer {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
        Peer { is_proven, reply_bytes_max: LARGE_REPLY_BYTES_MAX, ..Peer::new(1, address) }
    }

    /// The reply to a poll, which the client never takes.
    fn stalls(budget: &mut ReplyBudget, is_proven: bool) -> Option<usize> {
        let mut peer = peer(is_proven);
        let bytes = budget.promise(&mut peer)?;
        budget.release(peer.promise);
        budget.unsent.add(bytes, is_proven);
        Some(bytes)
    }

    #[test]
    fn one_poll_gets_all_it_may() {
        let mut budget = ReplyBudget::new(BUDGET, LARGEST);
        let mut reader = peer(true);
        assert_eq!(budget.promise(&mut reader), Some(LARGEST - HEADERS));
        budget.release(reader.promise);
        assert_eq!(budget.promise(&mut peer(false)), Some(LARGEST - HEADERS), "its first poll");
        for each_max in [1 << 20, 1_000] {
            let mut budget = ReplyBudget::new(BUDGET, each_max);
            assert_eq!(budget.promise(&mut peer(true)), Some(each_max));
            assert_eq!(budget.promise(&mut peer(false)), Some(each_max));
        }
    }

    #[test]
    fn no_reply_is_longer_than_its_client_takes() {
        for is_proven in [true, false] {
            let mut capped = Peer { reply_bytes_max: FRAME_BYTES_MAX, ..peer(is_proven) };
            let promised = ReplyBudget::new(BUDGET, LARGEST).promise(&mut capped);
            assert_eq!(promised, Some((64 << 20) - HEADERS));
        }
    }

    #[test]
    fn a_hundred_that_do_not_read_leave_large_replies_to_those_that_do() {
        for (bytes_max, others_get) in [(BUDGET, 64 << 20), (SMALL, 2 << 20)] {
            let mut budget = ReplyBudget::new(bytes_max, LARGEST);
            (0..100).for_each(|_| assert!(stalls(&mut budget, false).is_some()));
            assert!(budget.used() <= bytes_max / 2, "{} of {bytes_max}", budget.used());
            let mut new = peer(false);
            assert!(budget.promise(&mut new).is_some(), "who is new is served, too");
            budget.release(new.promise);
            assert!(budget.promise(&mut peer(true)) >= Some(others_get));
        }
    }

    #[test]
    fn a_poll_waits_for_others_under_way_before_it_gets_little() {
        let mut budget = ReplyBudget::new(SMALL, LARGEST);
        let mut under_way = Vec::new();
        let first = loop {
            let mut peer = peer(true);
            match budget.promise(&mut peer) {
                Some(bytes) => assert!(bytes >= SMALL / ORDINARY_PARTS),
                None => break peer,
            }
            under_way.push(peer);
        };
        assert!(under_way.len() > 100);
        assert_eq!(first.promise, Promise::default());
        under_way.drain(..).for_each(|peer| budget.release(peer.promise));
        assert_eq!(budget.promise(&mut peer(true)), Some(SMALL / PROVEN_PARTS));
    }

    #[test]
    fn however_many_do_not_read_a_quarter_is_left_to_those_that_do() {
        let mut budget = ReplyBudget::new(SMALL, LARGEST);
        let served = (0..10_000).map_while(|_| stalls(&mut budget, false)).count();
        assert!(served > 350, "{served}");
        assert!(budget.used() <= SMALL / 4 * 3);
        assert!(budget.promise(&mut peer(true)) >= Some(SMALL / 16));
    }

    proptest! {
        /// Whoever polls, stalls and reads: what is promised and held never exceeds the budget.
        #[test]
        fn the_budget_holds(
            bytes_max in 0_usize..64 << 20,
            each_max in 1_usize..64 << 20,
            steps in proptest::collection::vec((any::<bool>(), 0_u8..3, 1_usize..64 << 20), 0..300),
        ) {
            let mut budget = ReplyBudget::new(bytes_max, each_max);
            let mut under_way: Vec<Peer> = Vec::new();
            let mut stalled: Vec<Promise> = Vec::new();
            for (is_proven, step, largest) in steps {
                match step {
                    0 => {
                        let reply_bytes_max = u32::try_from(HEADERS + largest).expect("a frame");
                        let mut peer = Peer { reply_bytes_max, ..peer(is_proven) };
                        if let Some(bytes) = budget.promise(&mut peer) {
                            prop_assert!(bytes <= largest.min(each_max));
                            under_way.push(peer);
                        }
                    }
                    1 => if let Some(Peer { promise, .. }) = under_way.pop() {
                        budget.release(promise);
                        budget.unsent.add(promise.bytes, promise.is_proven);
                        stalled.push(promise);
                    },
                    _ => if let Some(promise) = stalled.pop() {
                        budget.unsent.remove(promise.bytes, promise.is_proven);
                    },
                }
                prop_assert!(budget.used() <= bytes_max);
                prop_assert!(budget.unsent.unproven + budget.promised.unproven <= bytes_max / 4 * 3);
            }
        }
    }
}
