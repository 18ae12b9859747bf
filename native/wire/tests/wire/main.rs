//! The wire crate against the golden frames, against its own inverses, and against arbitrary bytes.

mod corpus;
mod golden;
mod header;
mod register;
mod replies;
mod tables;
mod vectors;
