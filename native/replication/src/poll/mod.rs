//! Polls: read batches from memory or segments.
//!
//! Start with [`request`], the polls and their answers; [`execute`] advances each poll from offset to offset.

pub(crate) mod cache;
pub(crate) mod execute;
pub(crate) mod request;
