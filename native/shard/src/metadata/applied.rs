//! What Python says that a metadata operation came to.

use ng_wire::primitive::{Malformed, Reader};

/// The decision about one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Applied<'a> {
    /// 0, or the code of the error that the client gets.
    pub result: u32,
    /// What the client gets besides.
    pub reply: ReplyKind,
    /// What the partitions have to converge on before the client is answered; 0 for nothing.
    pub revision: u64,
    /// Rows put and deleted.
    pub deltas: &'a [u8],
}

/// What a reply shows of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyKind {
    /// Nothing.
    Empty,
    /// A stream.
    Stream {
        /// Which.
        stream: u32,
    },
    /// A topic with its partitions.
    Topic {
        /// Of which stream.
        stream: u32,
        /// Which.
        topic: u32,
    },
}

impl<'a> Applied<'a> {
    /// Reads the body of a record; whether the deltas are sound is for the catalog to say.
    pub fn decode(body: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let result = reader.u32()?;
        let (kind, stream, topic) = (reader.u8()?, reader.u32()?, reader.u32()?);
        let revision = reader.u64()?;
        let reply = match kind {
            0 => ReplyKind::Empty,
            1 => ReplyKind::Stream { stream },
            2 => ReplyKind::Topic { stream, topic },
            other => return Err(Malformed::Value(other.into())),
        };
        let deltas = reader.bytes(reader.remaining())?;
        Ok(Self { result, reply, revision, deltas })
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
        let reply = ReplyKind::Topic { stream: 3, topic: 4 };
        assert_eq!(Applied::decode(&body), Ok(Applied { result: 0, reply, revision: 5, deltas: &[9, 9] }));
        for length in 0..21 {
            assert!(Applied::decode(&body[..length]).is_err(), "{length} bytes");
        }
        body[4] = 3;
        assert_eq!(Applied::decode(&body), Err(Malformed::Value(3)));
    }
}
