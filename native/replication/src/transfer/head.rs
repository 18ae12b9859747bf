//! The head of a transferred state. It precedes the messages.

use ng_storage::record_body::InstallBody;
use ng_storage::refusal::Refusal;

/// Bytes of three numbers.
const FIXED: usize = 24;

/// The state of a group without its messages, and the range of messages that follows it.
#[derive(Debug)]
pub(crate) struct TransferHead {
    /// State, as in the install record.
    pub(crate) install: InstallBody,
    /// The messages from this offset on follow.
    pub(crate) first: u64,
    /// First offset that the sender retains. It exceeds the first offset of the state if the sender executed
    /// a truncation or a purge in an earlier run and, in this run, does not know yet that it is committed.
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

    /// Length of the head that begins with these bytes, if they contain it already.
    pub(crate) fn length(bytes: &[u8]) -> Option<u64> {
        Some(number(bytes, 0)?.saturating_add(FIXED as u64))
    }

    /// Decodes a complete head.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Option<Self>, Refusal> {
        let (Some(first), Some(kept_from)) = (number(bytes, 1), number(bytes, 2)) else { return Ok(None) };
        let Some(install) = bytes.get(FIXED..) else { return Ok(None) };
        Ok(Some(Self { install: InstallBody::decode(install)?, first, kept_from }))
    }
}

fn number(bytes: &[u8], index: usize) -> Option<u64> {
    bytes.get(index * 8..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}
