//! The state of a group, from one node to another that is too far behind for its log.
//!
//! Start with [`receive`]: the node that lacks a state asks for it, piece by piece, and [`send`] answers.
//! While a state is being fetched, [`log_pin`] keeps the log behind it.

pub(crate) mod head;
pub(crate) mod log_pin;
pub(crate) mod receive;
pub(crate) mod send;
