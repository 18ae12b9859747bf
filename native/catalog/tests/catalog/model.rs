//! Random changes, made in a catalog and in a map of bytes that knows nothing of rows but their rules.

use std::collections::BTreeMap;
use std::ops::Bound;

use ng_catalog::{Catalog, Row, RowKey};
use ng_wire::request::{Identifier, TopicTarget};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::written::{bytes, catalog, counters, delete, partition, puts, stream, topic, user};

#[derive(Clone, Debug)]
enum Change {
    Put(Row),
    Delete(Vec<u8>),
}

impl Change {
    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Put(row) => puts(std::slice::from_ref(row)),
            Self::Delete(prefix) => delete(prefix),
        }
    }
}

/// The rows as bytes, and the two rules that are not about bytes.
#[derive(Clone, Default)]
struct Model {
    rows: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl Model {
    fn change(&mut self, change: &Change) -> bool {
        match change {
            Change::Delete(prefix) => self.rows.retain(|key, _| !key.starts_with(prefix)),
            Change::Put(row) => {
                let key = row.by_ref().key().bytes().to_vec();
                let mut value = Vec::new();
                row.by_ref().put_value(&mut value);
                let parent = key.len().saturating_sub(5);
                if (parent > 0 && !self.rows.contains_key(&key[..parent])) || self.name_is_taken(row, &key) {
                    return false;
                }
                self.rows.insert(key, value);
            }
        }
        true
    }

    fn name_is_taken(&self, row: &Row, key: &[u8]) -> bool {
        let name = match row {
            Row::Stream(_, row) => row.name.as_str(),
            Row::Topic(_, _, row) => row.name.as_str(),
            Row::User(_, row) => row.name.as_str(),
            _ => return false,
        };
        let siblings = self.rows.iter().filter(|(other, _)| {
            other.len() == key.len() && *other != key && other[..key.len() - 4] == key[..key.len() - 4]
        });
        siblings.into_iter().any(|(key, value)| match Row::decode(key, value).expect("a row of the model") {
            Row::Stream(_, row) => row.name.as_str() == name,
            Row::Topic(_, _, row) => row.name.as_str() == name,
            Row::User(_, row) => row.name.as_str() == name,
            _ => false,
        })
    }

    fn bytes(&self) -> Vec<u8> {
        let rows = self.rows.iter().map(|(key, value)| Row::decode(key, value).expect("a row of the model"));
        puts(&rows.collect::<Vec<_>>())
    }
}

/// Neighbours, and numbers that begin with the same bytes.
const NUMBERS: [u32; 6] = [0, 1, 2, 256, 257, u32::MAX];

fn number() -> impl Strategy<Value = u32> {
    prop_oneof![4 => 0..3_u32, 1 => prop::sample::select(NUMBERS.to_vec())]
}

fn row() -> impl Strategy<Value = Row> {
    prop_oneof![
        1 => any::<u64>().prop_map(counters),
        4 => (number(), "[ab]").prop_map(|(id, name)| stream(id, &name)),
        6 => (number(), number(), "[ab]").prop_map(|(of, id, name)| topic(of, id, &name)),
        8 => (number(), number(), number()).prop_map(|(of, topic, id)| partition(of, topic, id)),
        1 => any::<u32>().prop_map(Row::NextUser),
        4 => (number(), "[ab]").prop_map(|(id, name)| user(id, &name)),
    ]
}

/// The front of some key, or of nothing.
fn prefix() -> impl Strategy<Value = Vec<u8>> {
    let front = (row(), 0..16_usize).prop_map(|(row, length)| {
        let key = row.by_ref().key().bytes();
        key[..length.min(key.len())].to_vec()
    });
    prop_oneof![9 => front, 1 => vec(0..3_u8, 0..18)]
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let change = prop_oneof![6 => row().prop_map(Change::Put), 1 => prefix().prop_map(Change::Delete)];
    vec(change, 1..6)
}

proptest! {
    #[test]
    fn changes_make_what_they_make_of_a_map(sequences in vec(changes(), 1..40)) {
        let (mut catalog, mut model) = (Catalog::default(), Model::default());
        for sequence in sequences {
            let mut after = model.clone();
            let taken = sequence.iter().all(|change| after.change(change));
            let deltas: Vec<_> = sequence.iter().flat_map(Change::bytes).collect();
            prop_assert_eq!(catalog.fold(&deltas).is_ok(), taken);
            if taken {
                model = after;
            }
            prop_assert_eq!(bytes(&catalog), model.bytes());
            let counted = [(1, 5), (1, 10), (1, 15), (2, 5)].map(|(tag, length)| {
                model.rows.keys().filter(|key| key[0] == tag && key.len() == length).count()
            });
            let users = catalog.users_count();
            let counts = [catalog.streams_count(), catalog.topics_count(), catalog.partitions_count(), users];
            prop_assert_eq!(counts, counted);
        }
        // What was refused or deleted left no trace, in the indexes neither.
        let fresh = self::catalog(&rows(&catalog));
        prop_assert_eq!(fresh.digest(), catalog.digest());
        for (stream, topic) in NUMBERS.into_iter().flat_map(|stream| NUMBERS.map(|topic| (stream, topic))) {
            let target = TopicTarget { stream: Identifier::Number(stream), topic: Identifier::Number(topic) };
            if let Ok(found) = catalog.find_topic(target) {
                prop_assert_eq!(found.partitions as usize, catalog.partitions_of(stream, topic).count());
            }
        }
        for name in ["a", "b"] {
            prop_assert_eq!(fresh.stream_named(name), catalog.stream_named(name));
            prop_assert_eq!(fresh.user_named(name), catalog.user_named(name));
            for stream in NUMBERS {
                prop_assert_eq!(fresh.topic_named(stream, name), catalog.topic_named(stream, name));
            }
        }
    }

    #[test]
    fn pieces_make_the_whole(changes in vec(row().prop_map(Change::Put), 0..60), bytes_max in 0..500_usize) {
        let mut catalog = Catalog::default();
        for change in changes {
            let _ = catalog.fold(&change.bytes());
        }
        let (mut whole, mut from) = (Vec::new(), Bound::Unbounded);
        loop {
            let mut piece = Vec::new();
            let next = catalog.put_piece(from, bytes_max, &mut piece);
            prop_assert!(piece.len() <= bytes_max.max(120));
            whole.extend_from_slice(&piece);
            match next {
                Some(key) => from = Bound::Included(key),
                None => break,
            }
        }
        prop_assert_eq!(&whole, &bytes(&catalog));
    }

    #[test]
    fn rows_begin_anywhere(changes in vec(row().prop_map(Change::Put), 0..60), from in row()) {
        let mut catalog = Catalog::default();
        for change in changes {
            let _ = catalog.fold(&change.bytes());
        }
        let from = from.by_ref().key();
        let keys = |from| catalog.rows(from).map(|row| row.key()).collect::<Vec<RowKey>>();
        let mut all = keys(Bound::Unbounded);
        prop_assert!(all.is_sorted_by(|one, next| one < next));
        all.retain(|key| *key >= from);
        prop_assert_eq!(keys(Bound::Included(from)), all.clone());
        all.retain(|key| *key > from);
        prop_assert_eq!(keys(Bound::Excluded(from)), all);
    }

    #[test]
    fn keys_order_as_their_bytes(one in row(), other in row()) {
        let (one, other) = (one.by_ref().key(), other.by_ref().key());
        prop_assert_eq!(one.cmp(&other), one.bytes().cmp(&other.bytes()));
        prop_assert_eq!(RowKey::decode(&one.bytes()), Ok(one));
    }
}

fn rows(catalog: &Catalog) -> Vec<Row> {
    let rows = catalog.rows(Bound::Unbounded).map(|row| {
        let mut value = Vec::new();
        row.put_value(&mut value);
        Row::decode(&row.key().bytes(), &value).expect("a row of a catalog")
    });
    rows.collect()
}
