use crate::primitive::{Malformed, Reader};

/// How a request names a stream, a topic or a consumer group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identifier<'a> {
    /// By its number.
    Number(u32),
    /// By its name, of 1 to 255 bytes; one made of digits is a name still.
    Name(&'a str),
}

impl<'a> Identifier<'a> {
    pub(super) fn read(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        match reader.u8()? {
            1 => match reader.u8()? {
                4 => reader.u32().map(Self::Number),
                length => Err(Malformed::Value(length.into())),
            },
            2 => reader.name8().map(Self::Name),
            kind => Err(Malformed::Value(kind.into())),
        }
    }
}
