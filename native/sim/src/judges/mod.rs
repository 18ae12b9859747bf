//! What must never happen, watched from outside. A judge knows nothing of how the nodes do what they do.

mod history;
mod promises;
mod segments;
mod standstill;

pub use history::History;
pub use promises::Promises;
pub use segments::Messages;
pub use standstill::Standstill;

/// What a judge found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict(pub String);
