//! The wire crate against the golden frames, against its own inverses, and against arbitrary bytes.

mod batch;
mod corpus;
mod golden;
mod header;
mod options;
mod permissions;
mod register;
mod replies;
mod requests;
mod settings;
mod slices;
mod stored;
mod tables;
mod vectors;
