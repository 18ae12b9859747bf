//! Streams, topics, partitions and users as rows: what is durable of the metadata, and what every shard keeps a mirror
//! of to route, to permit and to answer from.
//!
//! A [`Catalog`] has one writer, [`Catalog::fold`], which takes the deltas of an operation or a piece of a
//! snapshot and either makes all of their changes or none. Catalogs that hold the same rows have the same
//! [digest](Catalog::digest), whatever made them so.
//!
//! Pure: no I/O, no clock, and no order of a hash map ever shows.

#![forbid(unsafe_code)]

mod authorize;
mod catalog;
pub mod deltas;
mod digest;
mod edit;
mod fold;
mod key;
mod name;
mod place;
mod reach;
mod refusal;
pub mod replies;
mod resolve;
mod rights;
mod rows;
pub mod snapshot;
mod user_row;
mod walk;

pub use authorize::{Barred, ROOT, Target};
pub use catalog::Catalog;
pub use key::{KeyBytes, RowKey};
pub use name::RowName;
pub use reach::Reach;
pub use refusal::{FoldRefusal, RowRefusal, SnapshotRefusal};
pub use resolve::{Absence, Missing, TopicView};
pub use rights::Rights;
pub use rows::{Compression, Counters, PartitionRow, Row, RowRef, StreamRow, TopicRow};
pub use user_row::UserRow;
