//! The reply of the metadata machine to a client's operation. It is held until every shard has converged on
//! the change.

use ng_wire::primitive::{Malformed, Reader};

/// The reply in the client table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetadataReply<'a> {
    /// Error code; 0 for success.
    pub result: u32,
    /// Revision on which every shard must converge before the client is answered; 0 if there is none.
    pub revision: u64,
    /// Bytes that the client receives after the result.
    pub payload: &'a [u8],
}

impl<'a> MetadataReply<'a> {
    /// Decodes a reply of the metadata machine.
    pub fn decode(reply: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(reply);
        let (result, revision) = (reader.u32()?, reader.u64()?);
        Ok(Self { result, revision, payload: reader.bytes(reader.remaining())? })
    }
}
