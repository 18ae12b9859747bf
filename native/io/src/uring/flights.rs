//! The flights of one driver, by the index their submissions carry.

use super::flight::Flight;

/// A flight leaves only after its last completion, so that the kernel never writes to freed memory, and an index is
/// never ambiguous. Memory grows with the most flights ever under way.
#[derive(Debug, Default)]
pub(super) struct Flights {
    rows: Vec<Option<Flight>>,
    free: Vec<u32>,
}

impl Flights {
    /// Gives a flight a place of its own.
    pub(super) fn insert(&mut self, flight: Flight) -> u32 {
        if let Some(index) = self.free.pop() {
            self.put(index, flight);
            return index;
        }
        self.rows.push(Some(flight));
        u32::try_from(self.rows.len() - 1).expect("operations are counted in 32 bits")
    }

    /// The flight of a submission, or of a completion, which only flights have.
    pub(super) fn get_mut(&mut self, index: u32) -> &mut Flight {
        self.rows[index as usize].as_mut().expect("a flight stays until its last completion")
    }

    /// Takes a flight out and keeps its place for [`Flights::put`] or [`Flights::release`].
    pub(super) fn take(&mut self, index: u32) -> Flight {
        self.rows[index as usize].take().expect("a flight stays until its last completion")
    }

    /// Puts a flight back into its place.
    pub(super) fn put(&mut self, index: u32, flight: Flight) {
        self.rows[index as usize] = Some(flight);
    }

    /// Gives the place of a flight that was taken out to the next one.
    pub(super) fn release(&mut self, index: u32) {
        self.free.push(index);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.iter().all(Option::is_none)
    }

    /// The places that are taken.
    pub(super) fn indices(&self) -> Vec<u32> {
        self.rows.iter().zip(0..).filter(|(row, _)| row.is_some()).map(|(_, index)| index).collect()
    }
}
