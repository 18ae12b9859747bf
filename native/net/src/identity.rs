//! Names of connections inside one shard.

use ng_io::Token;

/// A slot of the connection table with its generation, so that the name of a closed connection finds nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnectionId {
    pub(crate) slot: u32,
    pub(crate) generation: u32,
}

impl ConnectionId {
    /// The token of this connection's operations.
    pub fn token(self) -> Token {
        Token(u64::from(self.generation) << 32 | u64::from(self.slot))
    }

    /// The connection of an operation.
    pub fn of(token: Token) -> Self {
        let slot = u32::try_from(token.0 & u64::from(u32::MAX)).expect("masked to 32 bits");
        let generation = u32::try_from(token.0 >> 32).expect("shifted to 32 bits");
        Self { slot, generation }
    }
}
