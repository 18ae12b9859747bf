//! All rows in one piece: the digest, and then a put of each, ascending by key.

use std::ops::Bound::Unbounded;

use ng_wire::primitive::{Reader, put_u64};

use crate::catalog::Catalog;
use crate::deltas::{Delta, Deltas, put_row};
use crate::refusal::SnapshotRefusal;

/// Appends the rows of a catalog.
pub fn encode(catalog: &Catalog, into: &mut Vec<u8>) {
    put_u64(into, catalog.digest());
    for row in catalog.rows(Unbounded) {
        put_row(into, row);
    }
}

/// Reads the rows of a catalog, every byte.
pub fn decode(bytes: &[u8]) -> Result<Catalog, SnapshotRefusal> {
    let mut reader = Reader::new(bytes);
    let stated = reader.u64()?;
    let rows = reader.bytes(reader.remaining())?;
    let mut last: Option<&[u8]> = None;
    for delta in Deltas::new(rows) {
        match delta? {
            Delta::Put { key, .. } if last.is_none_or(|last| last < key) => last = Some(key),
            _ => return Err(SnapshotRefusal::Order),
        }
    }
    let mut catalog = Catalog::default();
    catalog.fold(rows)?;
    let found = catalog.digest();
    if found == stated { Ok(catalog) } else { Err(SnapshotRefusal::Digest { stated, found }) }
}
