//! Wakes a receiver thread, but only if it sleeps.
//!
//! A wake-up across cores costs tens of microseconds, so a sender writes to the receiver's descriptor only
//! after the receiver has announced that it sleeps. The two sides run
//!
//! ```text
//! receiver: sleeping = true; fence; look at the queues
//! sender:   push;            fence; look at sleeping
//! ```
//!
//! Both fences are sequentially consistent, so at least one side sees the other's write: either the receiver
//! finds the entry and stays awake, or the sender finds the flag and rings. A lost wake-up would need both to
//! miss.
//!
//! `tests/doorbell_model.rs` compiles this file a second time, alone, so that a model checker can run every
//! interleaving of it.

use crate::sync::{AtomicBool, Ordering, fence};

/// The wake-up of one receiver: writes to the descriptor on which it sleeps.
pub trait Wake {
    /// Ends the current sleep of the receiver, or its next one if it is awake.
    fn wake(&self);
}

/// One receiver's doorbell, shared by all its senders.
#[derive(Debug)]
pub struct Doorbell<W> {
    sleeping: AtomicBool,
    wake: W,
}

impl<W: Wake> Doorbell<W> {
    /// A doorbell whose receiver is awake.
    pub fn new(wake: W) -> Self {
        Self { sleeping: AtomicBool::new(false), wake }
    }

    /// The receiver's waker.
    pub fn receiver(&self) -> &W {
        &self.wake
    }

    /// For the sender, after a push: rings if the receiver sleeps. Returns true if it rang; among concurrent
    /// senders only one rings.
    pub fn ring(&self) -> bool {
        fence(Ordering::SeqCst);
        let rings = self.sleeping.load(Ordering::Relaxed) && self.sleeping.swap(false, Ordering::Relaxed);
        if rings {
            self.wake.wake();
        }
        rings
    }

    /// For the receiver, before sleeping: returns true if it may sleep. `queues_are_empty` runs after the
    /// announcement, because a sender that pushes between an earlier check and the announcement would not
    /// ring.
    pub fn may_sleep(&self, queues_are_empty: impl FnOnce() -> bool) -> bool {
        self.sleeping.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let may = queues_are_empty();
        if !may {
            self.awake();
        }
        may
    }

    /// For the receiver, after sleeping: senders need not ring any more.
    pub fn awake(&self) {
        self.sleeping.store(false, Ordering::Relaxed);
    }
}
