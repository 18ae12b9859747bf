//! The figures of one shard, written by its thread alone and read by anyone.

use std::sync::atomic::{AtomicU64, Ordering};

use ng_wire::table::metric::{CELLS, Cell};

/// One shard's cells, a cache line apart from the next shard's. Relaxed loads and stores: there is one writer, and a
/// reader wants figures, not an instant.
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

    /// Reads one cell.
    pub fn get(&self, cell: Cell) -> u64 {
        self.cells[cell.index()].load(Ordering::Relaxed)
    }

    /// Appends all cells.
    pub fn read(&self, into: &mut Vec<u64>) {
        into.extend(self.cells.iter().map(|cell| cell.load(Ordering::Relaxed)));
    }
}
