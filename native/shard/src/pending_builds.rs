//! Reconcile operations that a shard has executed and whose groups are not ready yet.

use std::collections::BTreeMap;
use std::time::Duration;

use ng_control::reconcile_order::ReconcileAnswers;
use ng_io::Instant;
use ng_wire::table::reconcile::{ReconcileKind, ReconcileOutcome};

/// Time without progress after which pending operations fail. The control plane sends a shard no further
/// operations before it has all answers, so a group on a disk that does not respond must not delay others
/// forever. Each new or ready group restarts the time, because a start that opens thousands of groups must
/// not report those that still wait.
const PATIENCE: Duration = Duration::from_secs(2);

/// Pending operations, at most one per group, because the control plane sends the next step after the answer
/// to the last.
#[derive(Debug, Default)]
pub struct PendingBuilds {
    /// Pass and kind of the operation, by group.
    orders: BTreeMap<u64, (u64, ReconcileKind)>,
    /// Time of the last new or ready group.
    moved_at: Option<Instant>,
}

impl PendingBuilds {
    /// Adds an operation.
    pub fn add(&mut self, group: u64, pass: u64, kind: ReconcileKind, now: Instant) {
        self.orders.insert(group, (pass, kind));
        self.moved_at = Some(now);
    }

    /// Removes the operations whose groups are ready, and after the deadline all others as failed. Returns
    /// the answers of each pass. A group whose operation failed continues to open, and the next operation for
    /// it checks it again.
    pub fn settle(
        &mut self,
        now: Instant,
        mut is_ready: impl FnMut(u64, ReconcileKind) -> bool,
    ) -> BTreeMap<u64, ReconcileAnswers> {
        let mut answers: BTreeMap<u64, ReconcileAnswers> = BTreeMap::new();
        let before = self.orders.len();
        self.orders.retain(|group, (pass, kind)| {
            let ready = is_ready(*group, *kind);
            if ready {
                answers.entry(*pass).or_default().add(*kind, *group, ReconcileOutcome::Done);
            }
            !ready
        });
        if self.orders.len() < before {
            self.moved_at = Some(now);
        }
        if self.deadline().is_some_and(|deadline| deadline <= now) {
            for (group, (pass, kind)) in std::mem::take(&mut self.orders) {
                answers.entry(pass).or_default().add(kind, group, ReconcileOutcome::Failed);
            }
        }
        answers
    }

    /// Time at which the remaining operations fail.
    pub fn deadline(&self) -> Option<Instant> {
        self.moved_at.filter(|_| !self.orders.is_empty()).map(|at| at + PATIENCE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Instant = Instant::from_nanos(1_000_000_000);
    const KIND: ReconcileKind = ReconcileKind::InsertRouted;
    const SECOND: Duration = Duration::from_secs(1);

    fn answers(answers: &[(u64, ReconcileOutcome)]) -> ReconcileAnswers {
        let mut all = ReconcileAnswers::default();
        answers.iter().for_each(|(group, outcome)| all.add(KIND, *group, *outcome));
        all
    }

    #[test]
    fn a_group_that_never_is_ready_fails_once_nothing_moves() {
        let mut pending = PendingBuilds::default();
        assert_eq!(pending.deadline(), None);
        (1..=3).for_each(|group| pending.add(group, 7, KIND, START));
        let later = START + SECOND;
        let settled = pending.settle(later, |group, _| group == 2);
        assert_eq!(settled, BTreeMap::from([(7, answers(&[(2, ReconcileOutcome::Done)]))]));
        assert_eq!(pending.deadline(), Some(later + PATIENCE), "one became ready");
        assert!(pending.settle(START + PATIENCE, |_, _| false).is_empty());
        let settled = pending.settle(later + PATIENCE, |_, _| false);
        assert_eq!(
            settled,
            BTreeMap::from([(7, answers(&[(1, ReconcileOutcome::Failed), (3, ReconcileOutcome::Failed)]))])
        );
        assert_eq!(pending.deadline(), None);
        assert!(pending.settle(later + PATIENCE * 2, |_, _| true).is_empty(), "each is answered once");
    }

    #[test]
    fn an_order_that_is_given_again_has_its_time_again() {
        let mut pending = PendingBuilds::default();
        pending.add(1, 7, KIND, START);
        assert_eq!(pending.settle(START + PATIENCE, |_, _| false).len(), 1);
        pending.add(1, 8, KIND, START + PATIENCE * 2);
        assert!(pending.settle(START + PATIENCE * 2 + SECOND, |_, _| false).is_empty());
        let settled = pending.settle(START + PATIENCE * 2 + SECOND, |_, _| true);
        assert_eq!(settled, BTreeMap::from([(8, answers(&[(1, ReconcileOutcome::Done)]))]));
    }
}
