//! Bytes to values and back for the client plane of the Iggy wire protocol 0.11 and for the frames between
//! replicas, and the tables that give every code on the client wire, in the metrics and in the logs its one
//! home.
//!
//! Pure: no I/O, no clock, no state. Decoders borrow from the caller's bytes; writers append to the caller's
//! `Vec`.

#![forbid(unsafe_code)]

pub mod batch;
pub mod checksum;
pub mod frame;
pub mod hashed;
pub mod permissions;
pub mod primitive;
pub mod replica;
pub mod reply;
pub mod request;
pub mod table;
pub mod version;
