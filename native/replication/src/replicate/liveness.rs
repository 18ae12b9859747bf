//! Liveness of the other nodes' shards. Any frame from a shard is a sign of life.

use ng_vsr::Ticks;

use crate::owner::owner;

/// One other node.
#[derive(Clone, Debug, Default)]
struct Peer {
    /// Its shards; empty until a heartbeat has reported their number.
    shards: Vec<Pair>,
    /// Start of the wait for its first frame.
    since: Ticks,
    silent: bool,
}

#[derive(Clone, Copy, Debug)]
struct Pair {
    heard: Ticks,
    incarnation: u64,
    silent: bool,
}

/// A silent part of a node. Groups whose primary is there need another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Silent {
    pub(crate) node: u8,
    /// Shard number and number of shards; `None` if no heartbeat of the node ever arrived.
    pub(crate) shard: Option<(u16, u16)>,
}

impl Silent {
    /// A group with its primary on this node is led from the silent part.
    pub(crate) fn leads(&self, group: u64) -> bool {
        self.shard.is_none_or(|(shard, shards)| owner(group, shards) == shard)
    }
}

/// Liveness of all other nodes.
#[derive(Debug)]
pub(crate) struct Liveness {
    peers: Vec<Peer>,
    patience: Ticks,
    /// No part becomes silent before this time.
    quiet_before: Ticks,
}

impl Liveness {
    pub(crate) fn new(nodes: u8, patience: Ticks, now: Ticks) -> Self {
        let peers = vec![Peer { since: now, ..Peer::default() }; usize::from(nodes)];
        Self { peers, patience, quiet_before: now }
    }

    /// Takes a heartbeat. Returns the part that has restarted, if the incarnation is higher than before.
    pub(crate) fn beat(
        &mut self,
        node: u8,
        (shard, shards): (u16, u16),
        incarnation: u64,
        now: Ticks,
    ) -> Option<Silent> {
        let peer = self.peers.get_mut(usize::from(node))?;
        if peer.shards.len() != usize::from(shards) {
            let unheard = Pair { heard: now, incarnation: 0, silent: false };
            peer.shards = vec![unheard; usize::from(shards)];
            self.quiet_before = 0;
        }
        self.quiet_before = self.quiet_before.min(now + self.patience);
        let pair = peer.shards.get_mut(usize::from(shard))?;
        let restarted = pair.incarnation != 0 && incarnation > pair.incarnation;
        *pair = Pair { heard: now, incarnation: incarnation.max(pair.incarnation), silent: false };
        restarted.then_some(Silent { node, shard: Some((shard, shards)) })
    }

    /// Takes a frame about a group as a sign of life.
    pub(crate) fn heard(&mut self, node: u8, group: u64, now: Ticks) {
        let Some(peer) = self.peers.get_mut(usize::from(node)) else { return };
        self.quiet_before = self.quiet_before.min(now + self.patience);
        let shards = u16::try_from(peer.shards.len()).unwrap_or(u16::MAX);
        match peer.shards.get_mut(usize::from(owner(group, shards))) {
            Some(pair) => {
                pair.heard = now;
                pair.silent = false;
            }
            None => {
                peer.since = now;
                peer.silent = false;
            }
        }
    }

    /// The part of a node that would lead a group is silent.
    pub(crate) fn is_silent(&self, node: u8, group: u64) -> bool {
        let Some(peer) = self.peers.get(usize::from(node)) else { return true };
        let shards = u16::try_from(peer.shards.len()).unwrap_or(u16::MAX);
        match peer.shards.get(usize::from(owner(group, shards))) {
            Some(pair) => pair.silent,
            None => peer.silent,
        }
    }

    /// Returns the parts that became silent since the last call. It visits each shard of each node but no
    /// group, and nothing while all parts were recently active.
    pub(crate) fn fallen_silent(&mut self, me: u8, now: Ticks) -> Vec<Silent> {
        let mut fallen = Vec::new();
        if now < self.quiet_before {
            return fallen;
        }
        let mut earliest = Ticks::MAX;
        for (node, peer) in (0_u8..).zip(&mut self.peers).filter(|(node, _)| *node != me) {
            if peer.shards.is_empty() && !peer.silent {
                let ends = peer.since + self.patience;
                if now >= ends {
                    peer.silent = true;
                    fallen.push(Silent { node, shard: None });
                } else {
                    earliest = earliest.min(ends);
                }
            }
            let shards = u16::try_from(peer.shards.len()).unwrap_or(u16::MAX);
            for (shard, pair) in (0_u16..).zip(&mut peer.shards).filter(|(_, pair)| !pair.silent) {
                let ends = pair.heard + self.patience;
                if now >= ends {
                    pair.silent = true;
                    fallen.push(Silent { node, shard: Some((shard, shards)) });
                } else {
                    earliest = earliest.min(ends);
                }
            }
        }
        self.quiet_before = earliest;
        fallen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn silent(liveness: &mut Liveness, now: Ticks) -> Vec<Silent> {
        liveness.fallen_silent(0, now)
    }

    #[test]
    fn a_node_without_any_frame_is_reported_silent_once_as_a_whole() {
        let mut liveness = Liveness::new(3, 400, 0);
        assert_eq!(silent(&mut liveness, 399), []);
        let whole = |node| Silent { node, shard: None };
        assert_eq!(silent(&mut liveness, 400), [whole(1), whole(2)]);
        assert_eq!(silent(&mut liveness, 900), []);
        assert!(liveness.is_silent(1, 7));
    }

    #[test]
    fn one_shard_of_a_node_falls_silent_and_recovers() {
        let mut liveness = Liveness::new(2, 400, 0);
        liveness.beat(1, (0, 2), 1, 10);
        liveness.beat(1, (1, 2), 1, 300);
        assert_eq!(silent(&mut liveness, 500), [Silent { node: 1, shard: Some((0, 2)) }]);
        liveness.beat(1, (0, 2), 1, 600);
        assert_eq!(silent(&mut liveness, 699), []);
        assert!(!liveness.is_silent(1, crate::owner::METADATA));
    }

    #[test]
    fn a_restart_is_noticed_though_nothing_was_silent() {
        let mut liveness = Liveness::new(2, 400, 0);
        assert_eq!(liveness.beat(1, (0, 1), 3, 0), None);
        assert_eq!(liveness.beat(1, (0, 1), 3, 100), None);
        assert_eq!(liveness.beat(1, (0, 1), 4, 200), Some(Silent { node: 1, shard: Some((0, 1)) }));
        assert_eq!(liveness.beat(1, (0, 1), 3, 300), None, "a late heartbeat of an earlier run");
    }
}
