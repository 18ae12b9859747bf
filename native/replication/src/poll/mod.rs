//! Polls: batches from memory or from segments.
//!
//! Start with [`request`], which says what a poll asks for and gets; [`execute`] leads each poll from offset
//! to offset.

pub(crate) mod cache;
pub(crate) mod execute;
pub(crate) mod request;
