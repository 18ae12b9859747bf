//! How a world ends, and what there is to say of one that does not.

use super::World;
use crate::tests::node::Node;
use crate::{Replica, Status};

/// How a world ends well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Everyone agrees, and all is done.
    Rest,
    /// What was lost is more than replicas can decide about, and they say so.
    Halt,
}

impl World {
    /// Whether all replicas executed the same, everything that was ever committed, with the same outcome, and wait
    /// for nothing any more.
    pub(super) fn agrees(&self) -> bool {
        let Some(first) = self.nodes.first() else { return false };
        self.nodes.iter().all(|node| {
            let replica = node.replica.as_ref();
            replica.is_some_and(|replica| {
                replica.status() == Status::Normal
                    && replica.commit_min().0 == self.judge.committed() as u64
                    && replica.deadline().is_none()
            }) && node.digests == first.digests
                && replica.map(|replica| replica.clients())
                    == first.replica.as_ref().map(|first| first.clients())
        })
    }

    /// Whether the group says that it cannot go on, and has a reason: something torn on one disk, and more on another.
    /// Then it must say so again and again, and nobody may pretend that the view has begun.
    pub(super) fn has_halted(&self) -> bool {
        let says = self.nodes.iter().filter_map(|node| node.halted).max();
        let stuck = |node: &Node| {
            let status = node.replica.as_ref().map(Replica::status);
            matches!(status, Some(Status::Blank | Status::ViewChange))
        };
        let reason = self.torn > 0 && self.spoiled > 0;
        reason && says.is_some_and(|time| time + 1_000 > self.now) && self.nodes.iter().all(stuck)
    }

    pub(super) fn story(&self) -> String {
        let line = |node: &Node| match &node.replica {
            None => "down".to_owned(),
            Some(replica) => format!(
                "{:?} view {} min {} max {} head {} doubt {:?} log {:?}",
                replica.status(),
                replica.view(),
                replica.commit_min(),
                replica.commit_max(),
                replica.head(),
                node.doubt,
                replica.sketch()
            ),
        };
        let lines: Vec<String> = self.nodes.iter().map(line).collect();
        format!("committed {}; {}", self.judge.committed(), lines.join("; "))
    }
}
