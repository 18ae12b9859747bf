//! Replication: passes requests and frames to replicas, and performs their effects.
//!
//! Start with [`step`]. These modules may use [`crate::durability`] and [`crate::segments`]; they never read
//! a file.

pub(crate) mod agenda;
pub(crate) mod execution;
pub(crate) mod heartbeat;
pub(crate) mod liveness;
pub(crate) mod request;
pub(crate) mod send;
pub(crate) mod step;
pub(crate) mod timer_wheel;
pub(crate) mod wake_up;
