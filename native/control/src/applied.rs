//! What Python says that a metadata operation came to.

use ng_wire::primitive::{Malformed, Reader};
use ng_wire::table::record::ReplyKind;

/// The decision about one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Applied<'a> {
    /// 0, or the code of the error that the client gets.
    pub result: u32,
    /// What the reply shows.
    pub reply: ReplyKind,
    /// The stream of the reply, or of its topic.
    pub stream: u32,
    /// The topic of the reply.
    pub topic: u32,
    /// What the partitions have to converge on before the client is answered; 0 for nothing.
    pub revision: u64,
    /// Rows put and deleted.
    pub deltas: &'a [u8],
}

impl<'a> Applied<'a> {
    /// Reads the body of a record; whether the deltas are sound is for the catalog to say.
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
        body[4] = 3;
        assert_eq!(Applied::decode(&body), Err(Malformed::Value(3)));
    }
}
