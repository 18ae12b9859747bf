//! Bugs that a simulation plants in a node to verify that its checks detect them.

use ng_replication as log;

/// A bug that can be planted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plant {
    /// A bug in the logs of all shards.
    Log(log::Plant),
    /// The sender drops a frame that must arrive if the mailbox is full.
    LostFrame,
    /// A metadata command is answered before every mirror has its rows.
    EarlyAnswer,
}

impl Plant {
    /// The bug for the logs; `None` for the others.
    #[must_use]
    pub const fn in_log(self) -> Option<log::Plant> {
        match self {
            Self::Log(plant) => Some(plant),
            Self::LostFrame | Self::EarlyAnswer => None,
        }
    }
}
