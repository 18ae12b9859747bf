//! Where in a table the keys begin that lie at or behind some bytes.

use std::cmp::Ordering;
use std::ops::Bound::{self, Excluded, Included};

/// The lower bound, in the numbers of a table whose keys have these tags, of the keys at or behind `from`. The
/// bytes may end anywhere.
pub(crate) fn place<const N: usize>(tags: [u8; N], from: &[u8]) -> Bound<[u32; N]> {
    let mut numbers = [0; N];
    let mut rest = from;
    for (level, tag) in tags.into_iter().enumerate() {
        let Some((found, behind)) = rest.split_first() else { return Included(numbers) };
        match found.cmp(&tag) {
            Ordering::Less => return Included(numbers),
            Ordering::Equal => (numbers[level], rest) = number(behind),
            Ordering::Greater => {
                numbers[level..].fill(u32::MAX);
                return Excluded(numbers);
            }
        }
    }
    if rest.is_empty() { Included(numbers) } else { Excluded(numbers) }
}

/// The least number that begins with the next four bytes, or with all that is left of them; and what follows.
fn number(bytes: &[u8]) -> (u32, &[u8]) {
    let (begun, rest) = bytes.split_at(bytes.len().min(size_of::<u32>()));
    let mut number = [0; size_of::<u32>()];
    number[..begun.len()].copy_from_slice(begun);
    (u32::from_be_bytes(number), rest)
}
