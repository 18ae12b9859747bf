//! Memory for replies to polls. Clients that ask for much and do not read would otherwise hold a largest reply each.

use ng_net::Peer;

/// Bytes of replies of a shard, written and promised, up to which polls get all they may.
const BYTES_MAX: usize = 256 << 20;

/// What a poll gets however many are under way, as long as clients take what is written for them: most replies need no more.
const ORDINARY: usize = 2 << 20;

/// What a poll gets where they do not, or one message: everybody is still served.
const LEAST: usize = 64 * 1024;

/// What the replies of a shard hold.
#[derive(Debug)]
pub struct ReplyBudget {
    /// What one reply may have at most.
    each_max: usize,
    /// Bytes that are written and that the kernel has not taken.
    pub unsent: usize,
    /// Bytes that replies under way may have.
    promised: usize,
}

impl ReplyBudget {
    /// Nothing is promised yet; one reply never gets more than `each_max`.
    pub const fn new(each_max: usize) -> Self {
        Self { each_max, unsent: 0, promised: 0 }
    }

    /// Promises room for the reply to a poll: a part of what is left, so that those who come next have room, too.
    pub(super) fn promise(&mut self, peer: &mut Peer, largest: usize) -> usize {
        let left = BYTES_MAX.saturating_sub(self.unsent + self.promised);
        let least = if self.unsent < BYTES_MAX { ORDINARY } else { LEAST };
        let bytes = (left / 4).max(least).min(largest).min(self.each_max);
        self.promised += bytes;
        peer.promised += bytes;
        bytes
    }

    /// The reply was written, or nobody waits for it.
    pub(super) const fn release(&mut self, promised: usize) {
        self.promised -= promised;
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr};

    use super::*;

    const LARGEST: usize = 64 << 20;

    fn peer() -> Peer {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
        Peer {
            client_id: 1,
            address,
            local_address: address,
            bound: None,
            ended: None,
            asked: None,
            promised: 0,
        }
    }

    #[test]
    fn one_poll_gets_all_it_may_and_many_share() {
        let mut budget = ReplyBudget::new(LARGEST);
        let mut peers: Vec<Peer> = (0..1_000).map(|_| peer()).collect();
        let promises: Vec<usize> = peers.iter_mut().map(|peer| budget.promise(peer, LARGEST)).collect();
        assert_eq!(promises[0], LARGEST);
        assert!(promises.is_sorted_by(|one, next| one >= next));
        assert!(promises[14] >= ORDINARY && promises[999] == ORDINARY);
        assert!(promises.iter().sum::<usize>() <= BYTES_MAX + 1_000 * ORDINARY);
        for peer in &peers {
            budget.release(peer.promised);
        }
        assert_eq!(budget.promise(&mut peer(), LARGEST), LARGEST);
    }

    #[test]
    fn what_nobody_takes_leaves_little_for_the_next() {
        let mut budget = ReplyBudget { unsent: BYTES_MAX, ..ReplyBudget::new(LARGEST) };
        assert_eq!(budget.promise(&mut peer(), LARGEST), LEAST);
        assert_eq!(budget.promise(&mut peer(), 1_000), 1_000);
    }

    #[test]
    fn no_reply_gets_more_than_is_set_for_each() {
        let mut budget = ReplyBudget::new(1 << 20);
        assert_eq!(budget.promise(&mut peer(), LARGEST), 1 << 20);
    }
}
