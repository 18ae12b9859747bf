//! Reconcile operations, which the control plane sends to a shard, and their answers.

use ng_wire::primitive::{Reader, put_u8, put_u64};
use ng_wire::table::reconcile::{ReconcileKind, ReconcileOutcome};

/// One operation on one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReconcileOp {
    /// Kind of operation.
    pub kind: ReconcileKind,
    /// Replication group.
    pub group: u64,
    /// Purge generation to reach; 0 unless the kind is a purge.
    pub purge_generation: u64,
}

/// Decodes the operations of a record; `None` if the bytes are malformed.
#[must_use]
pub fn orders(body: &[u8]) -> Option<Vec<ReconcileOp>> {
    let mut reader = Reader::new(body);
    let mut orders = Vec::new();
    while reader.remaining() > 0 {
        orders.push(ReconcileOp {
            kind: ReconcileKind::from_code(reader.u8().ok()?)?,
            group: reader.u64().ok()?,
            purge_generation: reader.u64().ok()?,
        });
    }
    Some(orders)
}

/// The answers to the operations of one pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReconcileAnswers(Vec<u8>);

impl ReconcileAnswers {
    /// Adds the answer to one operation.
    pub fn add(&mut self, kind: ReconcileKind, group: u64, outcome: ReconcileOutcome) {
        put_u8(&mut self.0, kind.code());
        put_u64(&mut self.0, group);
        put_u8(&mut self.0, outcome.code());
    }

    /// There is no answer.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The body of a `Reconciled` record.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn truncated_or_unknown_orders_are_refused() {
        let mut body = vec![2];
        body.extend(7_u64.to_le_bytes());
        body.extend(3_u64.to_le_bytes());
        let order = ReconcileOp { kind: ReconcileKind::InsertRouted, group: 7, purge_generation: 3 };
        assert_eq!(orders(&body), Some(vec![order]));
        assert_eq!(orders(&[]), Some(vec![]));
        for length in 1..body.len() {
            assert_eq!(orders(&body[..length]), None);
        }
        body[0] = 6;
        assert_eq!(orders(&body), None);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(body in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(orders(&body).is_none_or(|orders| orders.len() * 17 == body.len()));
        }
    }
}
