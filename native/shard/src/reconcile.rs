//! What the control plane orders a shard to do with partitions, and what became of each order.

use ng_wire::primitive::{Reader, put_u8, put_u64};

/// What is to be done with a partition's group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderKind {
    /// Its owner opens the log.
    InsertOwned,
    /// Requests may go to its owner.
    InsertRouted,
    /// No request goes there any more; its owner ends the group, and what is left of it until the files are gone is a
    /// tombstone.
    RemoveRouted,
    /// Its owner forgets the tombstone.
    ConfirmRemove,
    /// Its owner drops every message, once for each generation.
    Purge,
}

impl OrderKind {
    /// The number on the way from and to Python.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::InsertOwned => 1,
            Self::InsertRouted => 2,
            Self::RemoveRouted => 3,
            Self::ConfirmRemove => 4,
            Self::Purge => 5,
        }
    }

    const fn from_code(code: u8) -> Option<Self> {
        Some(match code {
            1 => Self::InsertOwned,
            2 => Self::InsertRouted,
            3 => Self::RemoveRouted,
            4 => Self::ConfirmRemove,
            5 => Self::Purge,
            _ => return None,
        })
    }
}

/// One order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// What is to be done.
    pub kind: OrderKind,
    /// With which group.
    pub group: u64,
    /// Up to which purge generation; for a purge only.
    pub purge_generation: u64,
}

/// Reads the orders of a record; nothing if the bytes are none.
#[must_use]
pub fn orders(body: &[u8]) -> Option<Vec<Order>> {
    let mut reader = Reader::new(body);
    let mut orders = Vec::new();
    while reader.remaining() > 0 {
        orders.push(Order {
            kind: OrderKind::from_code(reader.u8().ok()?)?,
            group: reader.u64().ok()?,
            purge_generation: reader.u64().ok()?,
        });
    }
    Some(orders)
}

/// What became of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is so.
    Done,
    /// The files of a tombstone are gone. Said some time after the order, or at once if there were none.
    Removed,
    /// It failed; it may be given again.
    Failed,
    /// There was no room for it now; it may be given again.
    Busy,
    /// The shard has no such group.
    UnknownGroup,
}

impl Fate {
    const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Removed => 1,
            Self::Failed => 2,
            Self::Busy => 3,
            Self::UnknownGroup => 4,
        }
    }
}

/// What became of orders of one pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fates(Vec<u8>);

impl Fates {
    /// Adds what became of an order.
    pub fn add(&mut self, kind: OrderKind, group: u64, fate: Fate) {
        put_u8(&mut self.0, kind.code());
        put_u64(&mut self.0, group);
        put_u8(&mut self.0, fate.code());
    }

    /// Whether there is nothing to tell.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The body of the record that tells it.
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
    fn orders_are_read_whole_or_not_at_all() {
        let mut body = vec![2];
        body.extend(7_u64.to_le_bytes());
        body.extend(3_u64.to_le_bytes());
        let order = Order { kind: OrderKind::InsertRouted, group: 7, purge_generation: 3 };
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
