//! What is lost of a journal, kept for as long as the journal: it must be told at every start.

use crate::record_body::{LostBlocks, MarkBody, Standing};

/// Ranges kept apart for ever. Beyond, the oldest are told as one, unless a block between them still counts: that would go
/// with them.
const RANGES_KEPT: usize = 64;

/// Ranges that a mark lists.
const LISTED_MAX: usize = 1_024;

/// Blocks that are lost: they may have held anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Loss {
    /// The first of them.
    pub first: u64,
    /// The last of them.
    pub last: u64,
    /// Whether they were known to be on the disk. Else they are torn, most likely, and were never acknowledged.
    pub proven: bool,
}

/// All losses, ascending and apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Losses {
    ranges: Vec<LostBlocks>,
}

impl Losses {
    /// Of all that was found or declared; what was merely skipped is no loss. Where two overlap the worse word counts. No
    /// block before `oldest` counts any more.
    pub(super) fn new(mut found: Vec<LostBlocks>, oldest: u64) -> Self {
        found.retain(|lost| lost.first <= lost.last && lost.standing != Standing::Skipped);
        found.sort_unstable();
        let mut ranges: Vec<LostBlocks> = Vec::with_capacity(found.len());
        for lost in found {
            let Some(before) = ranges.last_mut() else {
                ranges.push(lost);
                continue;
            };
            let continues = lost.first == before.last + 1 && lost.standing == before.standing;
            if lost.first <= before.last || continues {
                before.last = before.last.max(lost.last);
                before.standing = before.standing.max(lost.standing);
            } else {
                ranges.push(lost);
            }
        }
        while ranges.len() > RANGES_KEPT && ranges[1].first <= oldest {
            let oldest = ranges.remove(0);
            ranges[0].first = oldest.first;
            ranges[0].standing = ranges[0].standing.max(oldest.standing);
        }
        Self { ranges }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Whether a mark can list them, with what a start skips, in a body of at most so many bytes.
    pub(super) fn fit(&self, body_bytes_max: usize) -> bool {
        let listed = self.ranges.len() + 1;
        listed <= LISTED_MAX && MarkBody::bytes_of(listed) <= body_bytes_max
    }

    pub(super) fn told(&self) -> Vec<Loss> {
        let loss = |lost: &LostBlocks| Loss {
            first: lost.first,
            last: lost.last,
            proven: lost.standing != Standing::Unproven,
        };
        self.ranges.iter().map(loss).collect()
    }

    /// Blocks turned out to be unreadable while the journal worked.
    pub(super) fn add(&mut self, blocks: impl IntoIterator<Item = u64>, oldest: u64) {
        let mut all = std::mem::take(&mut self.ranges);
        let lost = |block| LostBlocks { first: block, last: block, standing: Standing::Proven };
        all.extend(blocks.into_iter().map(lost));
        *self = Self::new(all, oldest);
    }

    /// A start goes on over all of them.
    pub(super) fn accept(&mut self) {
        for lost in &mut self.ranges {
            lost.standing = lost.standing.min(Standing::Accepted);
        }
    }

    /// The body of a mark that lists them, and the numbers of blocks that a new incarnation skips.
    pub(super) fn mark(&self, skipped: Option<(u64, u64)>) -> MarkBody {
        let skipped = skipped.map(|(first, last)| LostBlocks { first, last, standing: Standing::Skipped });
        MarkBody { lost: self.ranges.iter().copied().chain(skipped).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn lost(first: u64, last: u64, standing: Standing) -> LostBlocks {
        LostBlocks { first, last, standing }
    }

    #[test]
    fn losses_are_told_apart_and_in_order() {
        let found = vec![
            lost(9, 9, Standing::Accepted),
            lost(3, 4, Standing::Unproven),
            lost(5, 5, Standing::Unproven),
            lost(20, 84, Standing::Skipped),
        ];
        let mut losses = Losses::new(found, 0);
        losses.add([4, 6], 0);
        let loss = |first, last, proven| Loss { first, last, proven };
        assert_eq!(losses.told(), [loss(3, 6, true), loss(9, 9, true)]);
    }

    fn many(count: u64) -> Vec<LostBlocks> {
        let standing = |number| if number == 0 { Standing::Proven } else { Standing::Unproven };
        (0..count).map(|number| lost(10 * number + 1, 10 * number + 2, standing(number))).collect()
    }

    #[test]
    fn too_many_are_told_as_more_than_they_are() {
        let many = many(100);
        let losses = Losses::new(many.clone(), u64::MAX);
        assert_eq!(losses.ranges.len(), RANGES_KEPT);
        let told = |block| losses.ranges.iter().any(|range| range.holds(block));
        assert!(many.iter().all(|one| told(one.first) && told(one.last)));
        assert_eq!(losses.ranges[0].standing, Standing::Proven, "the worst word counts");
        assert_eq!(losses.ranges[1].standing, Standing::Unproven);
    }

    #[test]
    fn what_counts_between_two_is_not_lost_with_them() {
        for oldest in [0, 1, 91, 105] {
            let losses = Losses::new(many(100), oldest);
            let told = |block| losses.ranges.iter().any(|range| range.holds(block));
            for block in oldest..1_000 {
                assert_eq!(told(block), (1..=2).contains(&(block % 10)), "block {block}, oldest {oldest}");
            }
        }
        assert_eq!(Losses::new(many(100), 0).ranges.len(), 100);
        assert_eq!(Losses::new(many(100), 105).ranges.len(), 90);
    }

    #[test]
    fn more_than_a_mark_lists_do_not_fit() {
        let fit = |count, bytes| Losses::new(many(count), 0).fit(bytes);
        assert!(fit(1_023, 1 << 20) && !fit(1_024, 1 << 20));
        assert!(fit(99, 8 + 24 * 100) && !fit(100, 8 + 24 * 100));
    }
}
