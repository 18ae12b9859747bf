//! What the metadata machine answers to a client's operation, before every shard has converged on it.

use ng_wire::primitive::{Malformed, Reader};

/// The reply that the log keeps for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetadataReply<'a> {
    /// 0, or the code of an error.
    pub result: u32,
    /// What every shard must have converged on before the client hears of it; 0 for nothing.
    pub revision: u64,
    /// What the client gets behind the result.
    pub payload: &'a [u8],
}

impl<'a> MetadataReply<'a> {
    /// Reads a reply of the metadata machine.
    pub fn decode(reply: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(reply);
        let (result, revision) = (reader.u32()?, reader.u64()?);
        Ok(Self { result, revision, payload: reader.bytes(reader.remaining())? })
    }
}
