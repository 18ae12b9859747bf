//! The catalog against a plain map of bytes, against the golden replies, and against arbitrary bytes.

mod deletes;
mod hostile;
mod model;
mod permission_matrix;
mod permissions;
mod reaching;
mod replies;
mod resolving;
mod rows;
mod snapshots;
mod written;
