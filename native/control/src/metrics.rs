//! The figures of one shard, written by its thread alone and read by anyone.

use std::sync::atomic::{AtomicU64, Ordering};

use ng_wire::table::metric::{CELLS, Cell, HistogramCells};
use ng_wire::table::scale::Tally;

/// One shard's cells, a cache line apart from the next shard's. Relaxed loads and stores: there is one
/// writer, and a reader wants figures, not an instant.
#[derive(Debug)]
#[repr(align(128))]
pub struct MetricsRow {
    cells: [AtomicU64; CELLS],
}

impl Default for MetricsRow {
    fn default() -> Self {
        Self { cells: [const { AtomicU64::new(0) }; CELLS] }
    }
}

impl MetricsRow {
    /// Counts. Only the shard's own thread may.
    pub fn add(&self, cell: Cell, count: u64) {
        let cell = &self.cells[cell.index()];
        cell.store(cell.load(Ordering::Relaxed).wrapping_add(count), Ordering::Relaxed);
    }

    /// Sets a gauge, or a counter that is kept elsewhere. Only the shard's own thread may.
    pub fn set(&self, cell: Cell, value: u64) {
        self.cells[cell.index()].store(value, Ordering::Relaxed);
    }

    /// Counts a value in a histogram. Only the shard's own thread may.
    pub fn observe(&self, cells: HistogramCells, value: u64) {
        self.add(cells.bucket(value), 1);
        self.add(cells.sum(), value);
    }

    /// Shows a histogram that is kept elsewhere. Only the shard's own thread may.
    pub fn show(&self, cells: HistogramCells, tally: &Tally) {
        for (cell, value) in cells.all().zip(tally.cells()) {
            self.set(cell, *value);
        }
    }

    /// Reads one cell.
    pub fn get(&self, cell: Cell) -> u64 {
        self.cells[cell.index()].load(Ordering::Relaxed)
    }

    /// Appends all cells.
    pub fn read(&self, into: &mut Vec<u64>) {
        into.extend(self.cells.iter().map(|cell| cell.load(Ordering::Relaxed)));
    }
}
