//! Fields read one after the other, each refusal naming its field.

use ng_wire::primitive::Reader;

use crate::refusal::{Reason, Refusal};

/// Reads the fields of one structure from the front of its bytes.
pub(crate) struct Fields<'a> {
    structure: &'static str,
    reader: Reader<'a>,
    length: usize,
}

impl<'a> Fields<'a> {
    pub(crate) const fn new(structure: &'static str, bytes: &'a [u8]) -> Self {
        Self { structure, reader: Reader::new(bytes), length: bytes.len() }
    }

    pub(crate) const fn refuse(&self, field: &'static str, reason: Reason) -> Refusal {
        Refusal::new(self.structure, field, reason)
    }

    pub(crate) fn bytes(&mut self, field: &'static str, count: usize) -> Result<&'a [u8], Refusal> {
        let needed = (self.length - self.reader.remaining()) as u64 + count as u64;
        let short = Reason::Short { needed, found: self.length as u64 };
        self.reader.bytes(count).map_err(|_| self.refuse(field, short))
    }

    pub(crate) fn u8(&mut self, field: &'static str) -> Result<u8, Refusal> {
        Ok(u8::from_le_bytes(self.array(field)?))
    }

    pub(crate) fn u16(&mut self, field: &'static str) -> Result<u16, Refusal> {
        Ok(u16::from_le_bytes(self.array(field)?))
    }

    pub(crate) fn u32(&mut self, field: &'static str) -> Result<u32, Refusal> {
        Ok(u32::from_le_bytes(self.array(field)?))
    }

    pub(crate) fn u64(&mut self, field: &'static str) -> Result<u64, Refusal> {
        Ok(u64::from_le_bytes(self.array(field)?))
    }

    pub(crate) fn u128(&mut self, field: &'static str) -> Result<u128, Refusal> {
        Ok(u128::from_le_bytes(self.array(field)?))
    }

    /// Takes `count` bytes that must be zero.
    pub(crate) fn zero(&mut self, field: &'static str, count: usize) -> Result<(), Refusal> {
        let taken = self.bytes(field, count)?;
        if taken.iter().fold(0, |seen, byte| seen | byte) != 0 {
            return Err(self.refuse(field, Reason::NotZero));
        }
        Ok(())
    }

    /// A count within bounds.
    pub(crate) fn count(&mut self, field: &'static str, min: u32, max: u32) -> Result<usize, Refusal> {
        let count = self.u32(field)?;
        if !(min..=max).contains(&count) {
            return Err(self.refuse(field, Reason::Value(u64::from(count))));
        }
        Ok(count as usize)
    }

    pub(crate) fn finish(self) -> Result<(), Refusal> {
        match self.reader.remaining() {
            0 => Ok(()),
            extra => Err(self.refuse("end", Reason::Trailing(extra as u64))),
        }
    }

    fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], Refusal> {
        let taken = self.bytes(field, N)?;
        Ok(*taken.first_chunk().expect("exactly N bytes were taken"))
    }
}

/// Appends `count` zero bytes.
pub(crate) fn put_zero(into: &mut Vec<u8>, count: usize) {
    into.resize(into.len() + count, 0);
}

/// Appends zero bytes up to the next multiple of `unit`, counted from `start`.
pub(crate) fn pad_from(into: &mut Vec<u8>, start: usize, unit: usize) {
    into.resize(start + (into.len() - start).next_multiple_of(unit), 0);
}

/// A count of entries that its structure bounds far below 32 bits.
pub(crate) fn count32(count: usize) -> u32 {
    u32::try_from(count).expect("the structure's bound on entries fits 32 bits")
}
