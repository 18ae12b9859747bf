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
    /// None in a simulation, whose scheduler looks at the flag.
    descriptor: Option<OwnedFd>,
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
        if let Some(descriptor) = &self.bell.descriptor {
            let _ = retry_on_intr(|| write(descriptor, &1_u64.to_ne_bytes()));
        }
    }

    pub(crate) fn new() -> Result<Self, IoError> {
        let descriptor = eventfd(0, EventfdFlags::CLOEXEC)
            .map_err(|errno| IoError::from_errno("make an eventfd", errno))?;
        Ok(Self::with(Some(descriptor)))
    }

    /// Of a driver that nothing can block.
    pub(crate) fn without_descriptor() -> Self {
        Self::with(None)
    }

    fn with(descriptor: Option<OwnedFd>) -> Self {
        Self { bell: Arc::new(Bell { descriptor, ringing: AtomicBool::new(false) }) }
    }

    /// Whether the driver's thread is to come out of `complete`.
    pub(crate) fn is_ringing(&self) -> bool {
        self.bell.ringing.load(Ordering::Acquire)
    }

    /// Called by the driver before it looks at whatever a waking thread may have left for it, never after: a
    /// wake that comes later writes to the descriptor again.
    pub(crate) fn take(&self) -> bool {
        self.bell.ringing.swap(false, Ordering::AcqRel)
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.descriptor.as_ref().expect("a driver of the kernel waits for a descriptor").as_fd()
    }
}
