//! Offsets in a list, ascending, each as eight bytes.

use std::ops::Range;

/// A list that is gone through once, beside messages that ascend too.
#[derive(Clone, Copy, Debug)]
pub struct Ascending<'a> {
    rest: &'a [[u8; 8]],
}

impl<'a> Ascending<'a> {
    /// The offsets of `list` from `first` on; what is left of it behind whole numbers is nothing.
    #[must_use]
    pub fn from(list: &'a [u8], first: u64) -> Self {
        let (offsets, _) = list.as_chunks::<8>();
        let before = offsets.partition_point(|offset| u64::from_le_bytes(*offset) < first);
        Self { rest: &offsets[before..] }
    }

    /// Whether an offset is in the list; none is asked for that is below one asked for before.
    pub fn has(&mut self, offset: u64) -> bool {
        self.next_from(offset) == Some(offset)
    }

    /// Whether any of these offsets is; the first is not below one asked for before.
    pub fn has_any(&mut self, offsets: Range<u64>) -> bool {
        self.next_from(offsets.start).is_some_and(|found| found < offsets.end)
    }

    fn next_from(&mut self, offset: u64) -> Option<u64> {
        while let Some((first, rest)) = self.rest.split_first() {
            match u64::from_le_bytes(*first) {
                found if found < offset => self.rest = rest,
                found => return Some(found),
            }
        }
        None
    }
}
