//! What happened, in the words of one who was there: kept short, for the seed that fails.

use std::collections::VecDeque;

/// Lines kept of a story that is longer.
const LINES_MAX: usize = 40_000;

/// Who did what, when.
#[derive(Debug, Default)]
pub(crate) struct Story {
    lines: VecDeque<String>,
    told: bool,
}

impl Story {
    /// A story that is written down, or one that is not.
    #[must_use]
    pub(crate) fn new(told: bool) -> Self {
        Self { lines: VecDeque::new(), told }
    }

    /// Something happened; `line` is only made if somebody will read it.
    pub(crate) fn tell(&mut self, now: u64, line: impl FnOnce() -> String) {
        if !self.told {
            return;
        }
        if self.lines.len() == LINES_MAX {
            self.lines.pop_front();
        }
        self.lines.push_back(format!("{:>6}.{:03} {}", now / 1_000_000, now / 1_000 % 1_000, line()));
    }

    /// The lines, oldest first.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().map(String::as_str)
    }
}
