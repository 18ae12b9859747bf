//! A table whose rows are named by generation-tagged handles.

use crate::driver::Handle;
use crate::error::IoError;

/// Rows of `T`, at most `rows_max` at a time; memory grows with the highest count seen.
#[derive(Debug)]
pub(crate) struct Table<T> {
    rows: Vec<Row<T>>,
    free: Vec<u32>,
    rows_max: usize,
}

#[derive(Debug)]
struct Row<T> {
    /// Counts the values this row has had, so that a handle to an earlier one is recognised.
    generation: u32,
    value: Option<T>,
}

impl<T> Table<T> {
    pub(crate) fn new(rows_max: usize) -> Self {
        Self { rows: Vec::new(), free: Vec::new(), rows_max: rows_max.min(u32::MAX as usize) }
    }

    /// Stores a value; a full table is out of descriptors by its own measure.
    pub(crate) fn insert(&mut self, value: T) -> Result<Handle, IoError> {
        let index = match self.free.pop() {
            Some(index) => index,
            None if self.rows.len() < self.rows_max => {
                self.rows.push(Row { generation: 0, value: None });
                u32::try_from(self.rows.len() - 1).expect("rows_max fits 32 bits")
            }
            None => return Err(IoError::new("adopt a descriptor", libc::ENFILE)),
        };
        let row = &mut self.rows[index as usize];
        row.value = Some(value);
        Ok(handle_of(index, row.generation))
    }

    pub(crate) fn get(&self, handle: Handle) -> Option<&T> {
        let row = self.rows.get(index_of(handle))?;
        if row.generation == generation_of(handle) { row.value.as_ref() } else { None }
    }

    pub(crate) fn get_mut(&mut self, handle: Handle) -> Option<&mut T> {
        let row = self.rows.get_mut(index_of(handle))?;
        if row.generation == generation_of(handle) { row.value.as_mut() } else { None }
    }

    /// Takes a value out; its handle is stale from now on. A row whose generations are used up is never used
    /// again.
    pub(crate) fn remove(&mut self, handle: Handle) -> Option<T> {
        let row =
            self.rows.get_mut(index_of(handle)).filter(|row| row.generation == generation_of(handle))?;
        let value = row.value.take()?;
        if let Some(next) = row.generation.checked_add(1) {
            row.generation = next;
            self.free.push(u32::try_from(index_of(handle)).expect("an index is 32 bits of a handle"));
        }
        Some(value)
    }

    /// The values of all rows in use.
    pub(crate) fn values(&self) -> impl Iterator<Item = &T> + '_ {
        self.rows.iter().filter_map(|row| row.value.as_ref())
    }

    /// The same, to change them.
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> + '_ {
        self.rows.iter_mut().filter_map(|row| row.value.as_mut())
    }

    /// The handles of all rows in use.
    pub(crate) fn handles(&self) -> impl Iterator<Item = Handle> + '_ {
        self.rows
            .iter()
            .zip(0_u32..)
            .filter(|(row, _)| row.value.is_some())
            .map(|(row, i)| handle_of(i, row.generation))
    }
}

fn handle_of(index: u32, generation: u32) -> Handle {
    Handle(u64::from(generation) << 32 | u64::from(index))
}

fn index_of(handle: Handle) -> usize {
    usize::try_from(handle.0 & u64::from(u32::MAX)).expect("half of a handle is 32 bits")
}

fn generation_of(handle: Handle) -> u32 {
    u32::try_from(handle.0 >> 32).expect("half of a handle is 32 bits")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stale_handle_finds_nothing_even_when_its_row_is_used_again() {
        let mut table = Table::new(4);
        let first = table.insert("first").expect("room");
        assert_eq!(table.remove(first), Some("first"));
        let second = table.insert("second").expect("room");
        assert_eq!(index_of(first), index_of(second));
        assert_eq!(table.get(first), None);
        assert_eq!(table.remove(first), None);
        assert_eq!(table.get_mut(second), Some(&mut "second"));
    }

    #[test]
    fn a_full_table_refuses_and_recovers() {
        let mut table = Table::new(2);
        let handles = [table.insert(1).expect("room"), table.insert(2).expect("room")];
        assert!(table.insert(3).expect_err("full").is_out_of_descriptors());
        table.remove(handles[0]);
        table.insert(4).expect("room again");
    }

    #[test]
    fn a_row_is_retired_before_its_generation_comes_round() {
        let mut table = Table::new(1);
        let handle = table.insert(0).expect("room");
        table.rows[0].generation = u32::MAX;
        let last = handle_of(0, u32::MAX);
        assert_eq!(table.get(handle), None);
        assert_eq!(table.remove(last), Some(0));
        table.insert(1).expect_err("the only row is spent");
        assert_eq!(table.get(last), None);
    }

    #[test]
    fn handles_lists_the_rows_in_use() {
        let mut table = Table::new(8);
        let handles: Vec<_> = (0..4).map(|value| table.insert(value).expect("room")).collect();
        table.remove(handles[1]);
        assert_eq!(table.handles().collect::<Vec<_>>(), [handles[0], handles[2], handles[3]]);
    }
}
