//! Orders to build partitions that a shard has carried out and whose groups are not ready yet.

use std::collections::BTreeMap;
use std::time::Duration;

use ng_control::reconcile_order::ReconcileAnswers;
use ng_io::Instant;
use ng_wire::table::reconcile::{ReconcileKind, ReconcileOutcome};

/// The control plane sends a shard no further orders before it has all answers. So a group that does not
/// become ready is reported as failed, after no group was ordered or became ready for so long: a group on a
/// disk that does not answer must not delay others for good, and a start that opens thousands of groups must
/// not report those that still wait for their turn.
const PATIENCE: Duration = Duration::from_secs(2);

/// One order for a group at a time: the control plane orders the next step when it has the answer to the
/// last.
#[derive(Debug, Default)]
pub struct PendingBuilds {
    /// For each group the pass and the kind of its order.
    orders: BTreeMap<u64, (u64, ReconcileKind)>,
    /// When a group was ordered, or became ready, last.
    moved_at: Option<Instant>,
}

impl PendingBuilds {
    /// Takes an order.
    pub fn add(&mut self, group: u64, pass: u64, kind: ReconcileKind, now: Instant) {
        self.orders.insert(group, (pass, kind));
        self.moved_at = Some(now);
    }

    /// Takes out the orders whose groups are ready, and all others once they have failed; returns the answers
    /// of each pass. A group whose order failed goes on opening, and is looked at again with the next order
    /// for it.
    pub fn settle(
        &mut self,
        now: Instant,
        mut is_ready: impl FnMut(u64, ReconcileKind) -> bool,
    ) -> BTreeMap<u64, ReconcileAnswers> {
        let mut told: BTreeMap<u64, ReconcileAnswers> = BTreeMap::new();
        let before = self.orders.len();
        self.orders.retain(|group, (pass, kind)| {
            let ready = is_ready(*group, *kind);
            if ready {
                told.entry(*pass).or_default().add(*kind, *group, ReconcileOutcome::Done);
            }
            !ready
        });
        if self.orders.len() < before {
            self.moved_at = Some(now);
        }
        if self.deadline().is_some_and(|deadline| deadline <= now) {
            for (group, (pass, kind)) in std::mem::take(&mut self.orders) {
                told.entry(pass).or_default().add(kind, group, ReconcileOutcome::Failed);
            }
        }
        told
    }

    /// When the orders that are left have failed.
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
        let told = pending.settle(later, |group, _| group == 2);
        assert_eq!(told, BTreeMap::from([(7, answers(&[(2, ReconcileOutcome::Done)]))]));
        assert_eq!(pending.deadline(), Some(later + PATIENCE), "one became ready");
        assert!(pending.settle(START + PATIENCE, |_, _| false).is_empty());
        let told = pending.settle(later + PATIENCE, |_, _| false);
        assert_eq!(
            told,
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
        let told = pending.settle(START + PATIENCE * 2 + SECOND, |_, _| true);
        assert_eq!(told, BTreeMap::from([(8, answers(&[(1, ReconcileOutcome::Done)]))]));
    }
}
