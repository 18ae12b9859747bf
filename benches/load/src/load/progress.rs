//! The bar on a terminal; elsewhere there is none.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Drawn so seldom that it costs nothing.
const DRAWN_PER_SECOND: u8 = 4;

/// How often the bar is told.
const STEP: u64 = 64;

/// What was done of what was asked for.
#[derive(Clone)]
pub(crate) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    pub(crate) fn new(requests: u64, at_most: Duration) -> Self {
        let bar = ProgressBar::with_draw_target(
            Some(requests),
            ProgressDrawTarget::stderr_with_hz(DRAWN_PER_SECOND),
        );
        let template = "{bar:30} {pos}/{len} requests, {per_sec}, {elapsed} of {msg}";
        bar.set_style(
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()),
        );
        bar.set_message(format!("{} s at most", at_most.as_secs_f64()));
        Self { bar }
    }

    /// Notes one more request, the one with this number.
    pub(crate) fn done(&self, number: u64) {
        if number.is_multiple_of(STEP) {
            self.bar.inc(STEP);
        }
    }

    pub(crate) fn end(&self) {
        self.bar.finish_and_clear();
    }
}
