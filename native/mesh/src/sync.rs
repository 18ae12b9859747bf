//! The atomics of the doorbell, by a name that its model checker can stand in for.

pub(crate) use std::sync::atomic::{AtomicBool, Ordering, fence};
