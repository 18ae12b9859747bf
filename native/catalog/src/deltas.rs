//! Changes of rows in their bytes: between shards, to Python and back, in the log and in snapshots.

use ng_wire::primitive::{Malformed, Reader, put_bytes32, put_u8, put_u16};

use crate::key::{KeyBytes, RowKey};
use crate::rows::RowRef;

const PUT: u8 = 1;
const DELETE: u8 = 2;

/// One change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delta<'a> {
    /// The row has this value from now on.
    Put {
        /// The key of the row.
        key: &'a [u8],
        /// The value.
        value: &'a [u8],
    },
    /// Every row whose key begins with these bytes goes.
    Delete {
        /// The bytes.
        prefix: &'a [u8],
    },
}

/// The changes in a sequence of bytes, one after the other. It ends with the first that is malformed.
#[derive(Clone, Debug)]
pub struct Deltas<'a> {
    rest: Reader<'a>,
}

impl<'a> Deltas<'a> {
    /// The changes that fill `bytes`.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: Reader::new(bytes) }
    }

    fn read(&mut self) -> Result<Delta<'a>, Malformed> {
        let kind = self.rest.u8()?;
        let length = self.rest.u16()?;
        let key = self.rest.bytes(length.into())?;
        match kind {
            PUT => {
                let length = self.rest.u32()?;
                Ok(Delta::Put { key, value: self.rest.bytes(length as usize)? })
            }
            DELETE => Ok(Delta::Delete { prefix: key }),
            other => Err(Malformed::Value(other.into())),
        }
    }
}

impl<'a> Iterator for Deltas<'a> {
    type Item = Result<Delta<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.remaining() == 0 {
            return None;
        }
        let delta = self.read();
        if delta.is_err() {
            self.rest = Reader::new(&[]);
        }
        Some(delta)
    }
}

/// Appends the change that gives a row its value.
pub fn put_row(into: &mut Vec<u8>, row: RowRef<'_>) {
    put_head(into, PUT, &row.key().bytes());
    let start = into.len();
    put_bytes32(into, &[]);
    row.put_value(into);
    let length = u32::try_from(into.len() - start - size_of::<u32>());
    let length = length.expect("a row is a name, two blocks of options and some numbers");
    into[start..start + size_of::<u32>()].copy_from_slice(&length.to_le_bytes());
}

/// Appends the change that takes away a row and all that it holds.
pub fn put_delete(into: &mut Vec<u8>, key: RowKey) {
    put_head(into, DELETE, &key.bytes());
}

fn put_head(into: &mut Vec<u8>, kind: u8, key: &KeyBytes) {
    put_u8(into, kind);
    put_u16(into, key.length());
    into.extend_from_slice(key);
}
