//! Wakes a thread that went to sleep, and only then.
//!
//! A wake-up across cores costs tens of microseconds, so a sender writes to the receiver's descriptor only
//! when the receiver has said that it sleeps. The two sides run
//!
//! ```text
//! receiver: sleeping = true; fence; look at the queues        sender: push; fence; look at sleeping
//! ```
//!
//! Both fences are sequentially consistent, so at least one side sees what the other wrote: either the
//! receiver finds the entry and stays awake, or the sender finds the flag and rings. A lost wake-up would
//! need both to miss.
//!
//! This file is compiled a second time, alone, by `tests/doorbell_model.rs`, which lets a model checker run
//! every interleaving of it.

use crate::sync::{AtomicBool, Ordering, fence};

/// What rings: writes to the descriptor the receiver sleeps on.
pub trait Wake {
    /// Makes the receiver's present or next sleep end at once.
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

    /// What wakes the receiver.
    pub fn receiver(&self) -> &W {
        &self.wake
    }

    /// Sender, after a push: rings if the receiver sleeps. Returns whether it rang; of many senders one does.
    pub fn ring(&self) -> bool {
        fence(Ordering::SeqCst);
        let rings = self.sleeping.load(Ordering::Relaxed) && self.sleeping.swap(false, Ordering::Relaxed);
        if rings {
            self.wake.wake();
        }
        rings
    }

    /// Receiver, before sleeping: returns whether it may sleep. `queues_are_empty` is asked after the
    /// announcement; asking it before is the bug this type exists to prevent.
    pub fn may_sleep(&self, queues_are_empty: impl FnOnce() -> bool) -> bool {
        self.sleeping.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let may = queues_are_empty();
        if !may {
            self.awake();
        }
        may
    }

    /// Receiver, after sleeping: senders need not ring any more.
    pub fn awake(&self) {
        self.sleeping.store(false, Ordering::Relaxed);
    }
}
