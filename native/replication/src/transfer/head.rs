//! What stands in front of the messages of a state that another node fetches.

use ng_storage::record_body::InstallBody;
use ng_storage::refusal::Refusal;

/// Three numbers.
const FIXED: usize = 24;

/// The state of a group but for its messages, and which of those follow it.
#[derive(Debug)]
pub(crate) struct TransferHead {
    /// As the install record will have it.
    pub(crate) install: InstallBody,
    /// The messages from this offset on follow.
    pub(crate) first: u64,
    /// First offset that the sender retains. It exceeds the first offset of the state if the sender executed
    /// a truncation or a purge in an earlier life and does not know yet, in this one, that it is committed.
    pub(crate) kept_from: u64,
}

impl TransferHead {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let install = self.install.encode();
        let mut bytes = Vec::with_capacity(FIXED + install.len());
        bytes.extend_from_slice(&(install.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&self.first.to_le_bytes());
        bytes.extend_from_slice(&self.kept_from.to_le_bytes());
        bytes.extend_from_slice(&install);
        bytes
    }

    /// How long the head is that begins with these bytes, if that is known already.
    pub(crate) fn length(bytes: &[u8]) -> Option<u64> {
        Some(number(bytes, 0)?.saturating_add(FIXED as u64))
    }

    /// Reads a whole head.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Option<Self>, Refusal> {
        let (Some(first), Some(kept_from)) = (number(bytes, 1), number(bytes, 2)) else { return Ok(None) };
        let Some(install) = bytes.get(FIXED..) else { return Ok(None) };
        Ok(Some(Self { install: InstallBody::decode(install)?, first, kept_from }))
    }
}

fn number(bytes: &[u8], index: usize) -> Option<u64> {
    bytes.get(index * 8..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}
