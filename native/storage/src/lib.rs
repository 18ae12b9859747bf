//! What server-ng keeps on disk: the journal and the files around it. `FORMAT.md` beside this crate says what every byte
//! means.
//!
//! Codecs are pure: bytes to values and back, each refusal naming structure, field and reason. The journal is a core
//! that takes events and returns effects ([`journal::PrepareJournal`]) and a thin shell that performs them through a
//! driver.

#![forbid(unsafe_code)]

pub mod accepted_loss;
pub mod block;
pub mod boot;
mod bytes;
pub mod checksum;
pub mod columns;
pub mod compaction;
pub mod data_directory;
pub mod describe;
pub mod envelope;
pub mod footer;
pub mod founding;
mod held_file;
pub mod home;
pub mod index;
pub mod journal;
pub mod layout;
pub mod manifest;
pub mod manifest_writer;
pub mod metadata_state;
pub mod poison;
pub mod record;
pub mod record_body;
pub mod refusal;
pub mod resharding;
pub mod rewrite;
pub mod segment;
pub mod segments_file;
pub mod slices;
pub mod store;
pub mod superblock;
pub mod superblock_writer;
mod sweep;
pub mod trash;

/// The unit in which files are laid out: what direct I/O accepts on every device we know.
pub const PAGE: usize = ng_io::buffer::PAGE;

pub use refusal::{Reason, Refusal};
