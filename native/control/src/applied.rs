//! The decision of Python about a metadata operation.

use ng_wire::primitive::{Malformed, Reader};
use ng_wire::table::record::ReplyKind;

/// The decision about one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Applied<'a> {
    /// Error code for the client; 0 for success.
    pub result: u32,
    /// Object that the reply shows.
    pub reply: ReplyKind,
    /// Stream of the reply, or stream of its topic; or its user.
    pub stream: u32,
    /// Topic of the reply.
    pub topic: u32,
    /// Revision on which the shards must converge before the client is answered; 0 if there is none.
    pub revision: u64,
    /// Rows to put and delete.
    pub deltas: &'a [u8],
}

impl<'a> Applied<'a> {
    /// Decodes the body of a record. The deltas stay bytes here, because the catalog verifies them.
    pub fn decode(body: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let result = reader.u32()?;
        let (kind, stream, topic) = (reader.u8()?, reader.u32()?, reader.u32()?);
        let revision = reader.u64()?;
        let reply = ReplyKind::from_code(kind).ok_or(Malformed::Value(kind.into()))?;
        let deltas = reader.bytes(reader.remaining())?;
        Ok(Self { result, reply, stream, topic, revision, deltas })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_is_read_from_its_layout() {
        let mut body = 0_u32.to_le_bytes().to_vec();
        body.push(2);
        body.extend(3_u32.to_le_bytes());
        body.extend(4_u32.to_le_bytes());
        body.extend(5_u64.to_le_bytes());
        body.extend([9, 9]);
        let reply = ReplyKind::Topic;
        let applied = Applied { result: 0, reply, stream: 3, topic: 4, revision: 5, deltas: &[9, 9] };
        assert_eq!(Applied::decode(&body), Ok(applied));
        for length in 0..21 {
            assert!(Applied::decode(&body[..length]).is_err(), "{length} bytes");
        }
        body[4] = 4;
        assert_eq!(Applied::decode(&body), Err(Malformed::Value(4)));
    }
}
