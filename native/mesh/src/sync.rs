//! The atomics of the doorbell, under a path that its model checker can replace.

pub(crate) use std::sync::atomic::{AtomicBool, Ordering, fence};
