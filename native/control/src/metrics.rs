//! The metrics of one shard: its thread writes them, any thread reads them.

use std::sync::atomic::{AtomicU64, Ordering};

use ng_wire::table::metric::{CELLS, Cell, HistogramCells};
use ng_wire::table::scale::Tally;

/// The cells of one shard, aligned so that two shards never share a cache line. Loads and stores are relaxed,
/// because each cell has one writer and a reader needs no consistent snapshot.
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
    /// Adds to a counter. Only the shard's thread calls this.
    pub fn add(&self, cell: Cell, count: u64) {
        let cell = &self.cells[cell.index()];
        cell.store(cell.load(Ordering::Relaxed).wrapping_add(count), Ordering::Relaxed);
    }

    /// Sets a gauge, or a counter that another part keeps. Only the shard's thread calls this.
    pub fn set(&self, cell: Cell, value: u64) {
        self.cells[cell.index()].store(value, Ordering::Relaxed);
    }

    /// Adds a value to a histogram. Only the shard's thread calls this.
    pub fn observe(&self, cells: HistogramCells, value: u64) {
        self.add(cells.bucket(value), 1);
        self.add(cells.sum(), value);
    }

    /// Copies a histogram that another part keeps. Only the shard's thread calls this.
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
