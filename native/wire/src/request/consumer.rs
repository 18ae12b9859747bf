use super::identifier::Identifier;
use crate::checksum::xxh32;
use crate::primitive::{Malformed, Reader};
use crate::replica::ConsumerKind;

/// Who reads, and under whom offsets are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Consumer<'a> {
    /// A consumer of its own, or a group.
    pub kind: ConsumerKind,
    /// Its number or its name.
    pub id: Identifier<'a>,
}

impl<'a> Consumer<'a> {
    pub(super) fn read(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let code = reader.u8()?;
        let kind = ConsumerKind::from_code(code).ok_or(Malformed::Value(code.into()))?;
        Ok(Self { kind, id: Identifier::read(reader)? })
    }

    /// The number a consumer of its own keeps its offsets under; a name stands for its hash, so that it and
    /// the number it hashes to are one consumer. `None` for a group, which has to be looked up.
    #[must_use]
    pub fn number(&self) -> Option<u32> {
        match (self.kind, self.id) {
            (ConsumerKind::Group, _) => None,
            (ConsumerKind::Consumer, Identifier::Number(number)) => Some(number),
            (ConsumerKind::Consumer, Identifier::Name(name)) => Some(xxh32(name.as_bytes())),
        }
    }
}
