//! Once all faults have healed, every replica catches up: one that does not for seconds is stuck.

use std::collections::BTreeMap;

use ng_replication::GroupStatus;
use ng_vsr::Status;
use ng_wire::replica::Op;

use super::Verdict;

/// Milliseconds for which a replica may neither be up to date nor come closer to it.
const PATIENCE: u64 = 5_000;

/// What was seen of one replica.
#[derive(Clone, Copy, Debug)]
struct Seen {
    executed: Op,
    /// When it was last up to date, or executed something.
    moved: u64,
}

/// The replicas that lag, by group and node.
#[derive(Debug, Default)]
pub struct Standstill {
    seen: BTreeMap<(u64, u8), Seen>,
}

impl Standstill {
    /// Looks at the replicas of a group, one for each node, at a millisecond. It is called from the moment on at which
    /// everything has healed.
    pub fn look(&mut self, group: u64, replicas: &[Option<GroupStatus>], now: u64) -> Result<(), Verdict> {
        let newest = replicas.iter().flatten().map(|replica| replica.commit_min).max().unwrap_or_default();
        for (node, replica) in (0_u8..).zip(replicas) {
            let executed = replica.map_or(Op::ZERO, |replica| replica.commit_min);
            let seen = self.seen.entry((group, node)).or_insert(Seen { executed, moved: now });
            if executed != seen.executed || replica.is_some_and(|replica| is_up_to_date(&replica, newest)) {
                *seen = Seen { executed, moved: now };
            } else if now >= seen.moved + PATIENCE {
                return Err(Verdict(format!(
                    "node {node} has stood still in group {group:x} since {} ms: {replica:?}",
                    seen.moved
                )));
            }
        }
        Ok(())
    }

    /// A group has halted loudly: nothing is asked of it until it is looked at again.
    pub fn forget(&mut self, group: u64) {
        self.seen.retain(|(known, _), _| *known != group);
    }
}

/// Whether a replica is in its view, executed everything that any did, and waits for no quorum.
fn is_up_to_date(replica: &GroupStatus, newest: Op) -> bool {
    replica.status == Status::Normal && replica.commit_min == newest && replica.commit_max == replica.head
}

#[cfg(test)]
mod tests {
    use ng_wire::replica::View;

    use super::*;

    const GROUP: u64 = 7;

    fn replica(status: Status, executed: u64, head: u64) -> Option<GroupStatus> {
        let (executed, head) = (Op(executed), Op(head));
        Some(GroupStatus { status, view: View(5), commit_min: executed, commit_max: executed, head })
    }

    /// Whether a judge is satisfied for as long as it waits, with the same replicas all the time.
    fn holds(replicas: [Option<GroupStatus>; 2]) -> bool {
        let mut judge = Standstill::default();
        (0..=PATIENCE).step_by(100).all(|now| judge.look(GROUP, &replicas, now).is_ok())
    }

    #[test]
    fn a_replica_that_stands_still_is_reported() {
        let fine = replica(Status::Normal, 9, 9);
        assert!(holds([fine, fine]));
        assert!(!holds([fine, replica(Status::Normal, 8, 8)]), "it lags");
        assert!(!holds([fine, replica(Status::ViewChange, 9, 9)]), "it waits for a view");
        assert!(!holds([fine, replica(Status::Blank, 0, 0)]), "nobody tells it the view");
        assert!(!holds([fine, replica(Status::Normal, 9, 10)]), "no quorum acknowledges its last operation");
        assert!(!holds([fine, None]), "its node is down");
    }

    #[test]
    fn a_replica_that_comes_closer_is_not_stuck() {
        let mut judge = Standstill::default();
        for now in (0..4 * PATIENCE).step_by(100) {
            let lagging = replica(Status::Normal, now / 1_000, 100);
            let looked = judge.look(GROUP, &[replica(Status::Normal, 100, 100), lagging], now);
            assert!(looked.is_ok(), "{:?}", looked.map_err(|verdict| verdict.0));
        }
    }

    #[test]
    fn a_group_that_has_halted_is_left_alone() {
        let mut judge = Standstill::default();
        let replicas = [replica(Status::ViewChange, 9, 9)];
        for now in (0..4 * PATIENCE).step_by(100) {
            if now % 1_000 == 0 {
                judge.forget(GROUP);
            }
            assert!(judge.look(GROUP, &replicas, now).is_ok(), "it said so at {now}");
        }
    }
}
