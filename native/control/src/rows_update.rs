//! Changed rows on their way to the mirrors.

use std::sync::Arc;

/// Rows for a mirror.
#[derive(Clone, Debug)]
pub struct RowsUpdate {
    /// Metadata operation that the mirror reflects afterwards.
    pub op: u64,
    /// The deltas are the whole state, so the mirror drops its rows first.
    pub fresh: bool,
    /// Rows to put and delete, in the layout of `ng_catalog::deltas`.
    pub deltas: Arc<[u8]>,
}
