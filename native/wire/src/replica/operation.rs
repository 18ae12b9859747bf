/// The kind of log an operation may stand in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plane {
    /// The one group that holds streams, topics, users and sessions.
    Metadata,
    /// A group that holds one partition.
    Partition,
}

/// What a prepare asks of the state machine of its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogOperation {
    /// Nothing: it only fills its place in the log.
    Noop,
    /// A client logs in; its session is numbered by the op.
    Register,
    /// A client logs out.
    Logout,
    /// A metadata command of a logged-in client, or of the cluster itself.
    Metadata,
    /// Messages with stamped offsets.
    Batch,
    /// Consumer offsets that were stored since the last such operation.
    Offsets,
    /// Every message and offset is dropped; a new generation begins.
    Purge,
    /// Messages below an offset are dropped.
    TruncatePrefix,
    /// The offsets of one consumer group are dropped.
    DropGroupOffsets,
    /// The partition stops taking messages.
    Fence,
    /// Segments are replaced by compacted ones.
    Swap,
}

impl LogOperation {
    /// Every operation.
    pub const ALL: [Self; 11] = [
        Self::Noop,
        Self::Register,
        Self::Logout,
        Self::Metadata,
        Self::Batch,
        Self::Offsets,
        Self::Purge,
        Self::TruncatePrefix,
        Self::DropGroupOffsets,
        Self::Fence,
        Self::Swap,
    ];

    /// The number in prepare headers.
    #[must_use]
    pub const fn code(self) -> u16 {
        match self {
            Self::Noop => 1,
            Self::Register => 16,
            Self::Logout => 17,
            Self::Metadata => 18,
            Self::Batch => 32,
            Self::Offsets => 33,
            Self::Purge => 34,
            Self::TruncatePrefix => 35,
            Self::DropGroupOffsets => 36,
            Self::Fence => 37,
            Self::Swap => 38,
        }
    }

    /// The operation of a number, if this release knows it.
    #[must_use]
    pub fn from_code(code: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|operation| operation.code() == code)
    }

    /// Whether the log of such a group may hold it.
    #[must_use]
    pub const fn belongs_to(self, plane: Plane) -> bool {
        match self {
            Self::Noop => true,
            Self::Register | Self::Logout | Self::Metadata => matches!(plane, Plane::Metadata),
            _ => matches!(plane, Plane::Partition),
        }
    }
}
