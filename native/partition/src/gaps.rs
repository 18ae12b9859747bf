//! Offsets that were never given to a message, between others that were: what tells a gap from a message that is missing.

/// Gaps kept apart. Beyond, the two oldest are told as one: a message between them that is missing goes unnoticed.
const GAPS_MAX: usize = 256;

/// The gaps of a partition's present generation, ascending and apart, each by its first and its last offset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gaps(Vec<(u64, u64)>);

impl Gaps {
    /// Gaps that were kept; they ascend.
    #[must_use]
    pub const fn kept(gaps: Vec<(u64, u64)>) -> Self {
        Self(gaps)
    }

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter().copied()
    }

    /// A batch begins at an offset where another was next.
    pub(crate) fn pass_over(&mut self, next: u64, begins: u64) {
        if begins <= next {
            return;
        }
        self.0.push((next, begins - 1));
        if self.0.len() > GAPS_MAX {
            let (first, _) = self.0.remove(0);
            self.0[0].0 = first;
        }
    }

    /// Offsets before this one count no more.
    pub(crate) fn forget_before(&mut self, offset: u64) {
        self.0.retain(|(_, last)| *last >= offset);
    }

    pub(crate) fn clear(&mut self) {
        self.0 = Vec::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_passed_over_is_kept_until_it_is_dropped() {
        let mut gaps = Gaps::default();
        gaps.pass_over(0, 0);
        gaps.pass_over(5, 7);
        gaps.pass_over(9, 10);
        assert_eq!(gaps.iter().collect::<Vec<_>>(), [(5, 6), (9, 9)]);
        gaps.forget_before(6);
        assert_eq!(gaps.iter().count(), 2);
        gaps.forget_before(7);
        assert_eq!(gaps.iter().collect::<Vec<_>>(), [(9, 9)]);
        gaps.clear();
        assert_eq!(gaps, Gaps::default());
    }

    #[test]
    fn of_too_many_the_oldest_are_told_as_one() {
        let mut gaps = Gaps::default();
        for number in 0..2 * GAPS_MAX as u64 {
            gaps.pass_over(10 * number, 10 * number + 1);
        }
        assert_eq!(gaps.iter().count(), GAPS_MAX);
        let oldest = 10 * GAPS_MAX as u64;
        assert_eq!(gaps.iter().take(2).collect::<Vec<_>>(), [(0, oldest), (oldest + 10, oldest + 10)]);
    }
}
