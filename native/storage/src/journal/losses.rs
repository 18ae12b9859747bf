//! What is lost of a journal, kept for as long as the journal: it must be told at every start.

use crate::record_body::{LostBlocks, MarkBody, Standing};

/// Ranges kept apart. Beyond, the oldest are told as one: more than is lost, never less.
const RANGES_MAX: usize = 64;

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
    /// Of all that was found or declared; what was merely skipped is no loss. Where two overlap the worse word counts.
    pub(super) fn new(mut found: Vec<LostBlocks>) -> Self {
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
        while ranges.len() > RANGES_MAX {
            let oldest = ranges.remove(0);
            ranges[0].first = oldest.first;
            ranges[0].standing = ranges[0].standing.max(oldest.standing);
        }
        Self { ranges }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
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
    pub(super) fn add(&mut self, blocks: impl IntoIterator<Item = u64>) {
        let mut all = std::mem::take(&mut self.ranges);
        let lost = |block| LostBlocks { first: block, last: block, standing: Standing::Proven };
        all.extend(blocks.into_iter().map(lost));
        *self = Self::new(all);
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
        let mut losses = Losses::new(vec![
            lost(9, 9, Standing::Accepted),
            lost(3, 4, Standing::Unproven),
            lost(5, 5, Standing::Unproven),
            lost(20, 84, Standing::Skipped),
        ]);
        losses.add([4, 6]);
        let loss = |first, last, proven| Loss { first, last, proven };
        assert_eq!(losses.told(), [loss(3, 6, true), loss(9, 9, true)]);
    }

    #[test]
    fn too_many_are_told_as_more_than_they_are() {
        let standing = |number| if number == 0 { Standing::Proven } else { Standing::Unproven };
        let many: Vec<_> =
            (0..100).map(|number| lost(10 * number + 1, 10 * number + 2, standing(number))).collect();
        let losses = Losses::new(many.clone());
        assert_eq!(losses.ranges.len(), RANGES_MAX);
        let told = |block| losses.ranges.iter().any(|range| range.holds(block));
        assert!(many.iter().all(|one| told(one.first) && told(one.last)));
        assert_eq!(losses.ranges[0].standing, Standing::Proven, "the worst word counts");
        assert_eq!(losses.ranges[1].standing, Standing::Unproven);
    }
}
