//! The 32 bytes that every structure begins with: checksum, magic, version, features, size.

use ng_wire::primitive::{put_u16, put_u32, put_u128};

use crate::bytes::{Fields, count32};
use crate::checksum::checksum;
use crate::refusal::{Reason, Refusal};

/// Bytes of an envelope.
pub const ENVELOPE: usize = 32;

/// The one version there is so far, of every structure.
const VERSION: u16 = 1;

/// A kind of structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Its name in refusals.
    pub name: &'static str,
    /// The bytes that mark it.
    pub magic: [u8; 8],
    /// The least and the greatest size it can have.
    pub size: (usize, usize),
}

/// A structure whose checksum was right.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opened<'a> {
    /// Its checksum, by which others refer to it.
    pub(crate) checksum: u128,
    /// Everything behind the envelope, up to the size.
    pub(crate) content: &'a [u8],
    /// Everything behind the size.
    pub(crate) rest: &'a [u8],
}

impl Kind {
    /// Appends a whole structure: envelope, then what `write` appends. Returns the checksum.
    pub(crate) fn seal(&self, into: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) -> u128 {
        let start = into.len();
        put_u128(into, 0);
        into.extend_from_slice(&self.magic);
        put_u16(into, VERSION);
        put_u16(into, 0);
        put_u32(into, 0);
        write(into);
        let size = into.len() - start;
        debug_assert!((self.size.0..=self.size.1).contains(&size), "{} of {size} bytes", self.name);
        into[start + 28..start + 32].copy_from_slice(&count32(size).to_le_bytes());
        let sum = checksum(&into[start + 16..]);
        into[start..start + 16].copy_from_slice(&sum.to_le_bytes());
        sum
    }

    /// Checks the envelope at the front of `bytes`, in the order that FORMAT.md prescribes.
    pub(crate) fn open<'a>(&self, bytes: &'a [u8]) -> Result<Opened<'a>, Refusal> {
        let mut fields = Fields::new(self.name, bytes);
        let stored = fields.u128("checksum")?;
        if fields.bytes("magic", 8)? != self.magic {
            return Err(fields.refuse("magic", Reason::Magic));
        }
        let version = fields.u16("version")?;
        if version != VERSION {
            return Err(match version {
                0 => fields.refuse("version", Reason::Value(0)),
                newer => fields.refuse("version", Reason::Newer(u64::from(newer))),
            });
        }
        let features = fields.u16("features")?;
        if features != 0 {
            return Err(fields.refuse("features", Reason::Newer(u64::from(features))));
        }
        let size = fields.u32("size")?;
        let length = size as usize;
        if !(self.size.0..=self.size.1).contains(&length) {
            return Err(fields.refuse("size", Reason::Value(u64::from(size))));
        }
        let Some((whole, rest)) = bytes.split_at_checked(length) else {
            let short = Reason::Short { needed: u64::from(size), found: bytes.len() as u64 };
            return Err(fields.refuse("size", short));
        };
        if checksum(&whole[16..]) != stored {
            return Err(fields.refuse("checksum", Reason::Checksum));
        }
        Ok(Opened { checksum: stored, content: &whole[ENVELOPE..], rest })
    }

    /// The same, where nothing may follow.
    pub(crate) fn open_all<'a>(&self, bytes: &'a [u8]) -> Result<Opened<'a>, Refusal> {
        let opened = self.open(bytes)?;
        match opened.rest.len() {
            0 => Ok(opened),
            extra => Err(Refusal::new(self.name, "end", Reason::Trailing(extra as u64))),
        }
    }
}
