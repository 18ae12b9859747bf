//! Changes of rows on their way to the mirrors.

use std::sync::Arc;

/// What a mirror is told.
#[derive(Clone, Debug)]
pub struct RowsUpdate {
    /// The operation that the rows stand at with it.
    pub op: u64,
    /// Whether the mirror begins anew: a whole state follows.
    pub fresh: bool,
    /// Rows put and deleted, in the layout of `ng_catalog::deltas`.
    pub deltas: Arc<[u8]>,
}
