//! The one way rows change: all changes of a sequence, or none.

use crate::catalog::Catalog;
use crate::deltas::{Delta, Deltas};
use crate::key::RowKey;
use crate::refusal::{FoldRefusal, RowRefusal};
use crate::rows::Row;

impl Catalog {
    /// Makes the changes of a sequence of deltas, in their order.
    ///
    /// All of it is read before anything changes, and what a refused sequence has changed is taken back.
    pub fn fold(&mut self, deltas: &[u8]) -> Result<(), FoldRefusal> {
        let changes: Vec<_> =
            Deltas::new(deltas).map(|delta| Change::of(delta?)).collect::<Result<_, _>>()?;
        let mut undone_by = Vec::new();
        for change in changes {
            if let Err(refusal) = self.make(change, &mut undone_by) {
                self.take_back(undone_by);
                return Err(refusal);
            }
        }
        Ok(())
    }

    fn make(&mut self, change: Change, undone_by: &mut Vec<Undo>) -> Result<(), FoldRefusal> {
        match change {
            Change::Put(row) => {
                self.admits(row.by_ref())?;
                let key = row.by_ref().key();
                undone_by.push(self.insert(row).map_or(Undo::Remove(key), Undo::Insert));
            }
            Change::Delete(prefix) => {
                let doomed: Vec<_> = self.keys_under(&prefix).collect();
                // A row goes after those that it holds.
                undone_by
                    .extend(doomed.into_iter().rev().filter_map(|key| self.remove(key)).map(Undo::Insert));
            }
        }
        Ok(())
    }

    fn take_back(&mut self, undone_by: Vec<Undo>) {
        for undo in undone_by.into_iter().rev() {
            match undo {
                Undo::Insert(row) => drop(self.insert(row)),
                Undo::Remove(key) => drop(self.remove(key)),
            }
        }
    }
}

/// A delta whose bytes were judged.
enum Change {
    Put(Row),
    Delete(Box<[u8]>),
}

impl Change {
    fn of(delta: Delta<'_>) -> Result<Self, RowRefusal> {
        match delta {
            Delta::Put { key, value } => Row::decode(key, value).map(Self::Put),
            Delta::Delete { prefix } => Ok(Self::Delete(prefix.into())),
        }
    }
}

/// What takes a change back.
enum Undo {
    Insert(Row),
    Remove(RowKey),
}
