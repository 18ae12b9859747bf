//! The doorbell of a driver: any thread rings it, the driver's thread wakes.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::{retry_on_intr, write};

use crate::error::IoError;

/// Ends a sleeping [`crate::Driver::complete`], or the next one. Cheap to clone; outlives its driver
/// harmlessly.
#[derive(Clone, Debug)]
pub struct Waker {
    bell: Arc<Bell>,
}

#[derive(Debug)]
struct Bell {
    descriptor: OwnedFd,
    /// Set by the first wake since the driver last looked; the wakes after it need no system call.
    ringing: AtomicBool,
}

impl Waker {
    /// Makes the driver's thread come out of `complete`. What the caller wrote before is visible to that
    /// thread then.
    pub fn wake(&self) {
        if self.bell.ringing.swap(true, Ordering::AcqRel) {
            return;
        }
        // The write fails only if the counter is about to overflow, after 2^64 - 2 wakes, so its result
        // carries nothing.
        let _ = retry_on_intr(|| write(&self.bell.descriptor, &1_u64.to_ne_bytes()));
    }

    pub(crate) fn new() -> Result<Self, IoError> {
        let descriptor = eventfd(0, EventfdFlags::CLOEXEC)
            .map_err(|errno| IoError::from_errno("make an eventfd", errno))?;
        Ok(Self { bell: Arc::new(Bell { descriptor, ringing: AtomicBool::new(false) }) })
    }

    /// Called by the driver before it looks at whatever a waking thread may have left for it, never after: a
    /// wake that comes later writes to the descriptor again.
    pub(crate) fn take(&self) -> bool {
        self.bell.ringing.swap(false, Ordering::AcqRel)
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.descriptor.as_fd()
    }
}
