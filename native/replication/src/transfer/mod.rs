//! Transfers the state of a group to a node that lags too far for the log.
//!
//! Start with [`receive`]: the node that lacks a state requests it, piece by piece, and [`send`] answers.
//! During a transfer, [`log_pin`] retains the log after the state.

pub(crate) mod head;
pub(crate) mod log_pin;
pub(crate) mod receive;
pub(crate) mod send;
