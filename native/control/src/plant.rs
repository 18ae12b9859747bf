//! Known bugs that a simulation can plant in a node, to see that its judges find them.

use ng_replication as log;

/// A bug that can be planted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plant {
    /// In the logs of all shards.
    Log(log::Plant),
    /// A frame that must arrive is dropped if the mailbox is full.
    LostFrame,
    /// A command on metadata is answered before every mirror knows its rows.
    EarlyAnswer,
}

impl Plant {
    /// The bug of the logs.
    #[must_use]
    pub const fn in_log(self) -> Option<log::Plant> {
        match self {
            Self::Log(plant) => Some(plant),
            Self::LostFrame | Self::EarlyAnswer => None,
        }
    }
}
