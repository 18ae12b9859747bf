//! Stateless codecs over the caller's bytes: no engine, no thread, safe in a forked child.

pub mod columns;
pub mod describe;
pub mod footer;
pub mod newest;
pub mod rewrite;
pub mod slices;
