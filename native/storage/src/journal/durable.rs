//! Values that nobody can reach before a record is durable.

use super::{Position, PrepareJournal};

/// A value, such as an answer or a message to a peer, that may leave only when the record at a position is durable.
///
/// There is no other way to the value than asking the journal, so "send before durable" does not compile.
#[derive(Debug)]
pub struct AwaitsDurable<T> {
    position: Position,
    value: T,
}

impl<T> AwaitsDurable<T> {
    /// Holds `value` back until the record at `position` is durable.
    pub const fn new(position: Position, value: T) -> Self {
        Self { position, value }
    }

    /// What it waits for.
    pub const fn position(&self) -> Position {
        self.position
    }

    /// The value if the record is durable, else itself.
    pub fn release(self, journal: &PrepareJournal) -> Result<T, Self> {
        if journal.is_durable(self.position) { Ok(self.value) } else { Err(self) }
    }
}
