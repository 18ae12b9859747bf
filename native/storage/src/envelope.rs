//! The 32 bytes that every structure begins with: checksum, magic, version, features, size.

use ng_wire::primitive::{put_u16, put_u32, put_u128};

use crate::bytes::{Fields, count32};
use crate::checksum::checksum;
use crate::refusal::{Reason, Refusal};

/// Bytes of an envelope.
pub const ENVELOPE: usize = 32;

/// A kind of structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Its name in refusals.
    pub name: &'static str,
    /// The bytes that mark it.
    pub magic: [u8; 8],
    /// The one version that is read and written.
    pub version: u16,
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
        put_u16(into, self.version);
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
        let features = fields.u16("features")?;
        let size = fields.u32("size")?;
        let length = size as usize;
        if let Some(refusal) = self.other_build(version, features) {
            // Rot may look like another version: only bytes that are whole speak for another build.
            let whole = bytes.get(16..length).is_some_and(|covered| checksum(covered) == stored);
            return Err(if whole { refusal } else { fields.refuse("checksum", Reason::Checksum) });
        }
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

    /// Why a structure of this version and these features is for another build, if it is.
    const fn other_build(&self, version: u16, features: u16) -> Option<Refusal> {
        let (found, known) = (version, self.version);
        let (field, reason) = match found {
            0 => ("version", Reason::Value(0)),
            _ if found < known => ("version", Reason::Older { found, known }),
            _ if found > known => ("version", Reason::Newer(found as u64)),
            _ if features != 0 => ("features", Reason::Newer(features as u64)),
            _ => return None,
        };
        Some(Refusal::new(self.name, field, reason))
    }

    /// Whether bytes have the checksum of a structure of this kind, whatever its version.
    pub(crate) fn is_whole(&self, bytes: &[u8]) -> bool {
        let mut fields = Fields::new(self.name, bytes);
        let (Ok(stored), Ok(magic)) = (fields.u128("checksum"), fields.bytes("magic", 8)) else {
            return false;
        };
        let (_, Ok(size)) = (fields.u32("version and features"), fields.u32("size")) else { return false };
        let content = bytes.get(16..size as usize);
        magic == self.magic && content.is_some_and(|content| checksum(content) == stored)
    }

    /// As [`Kind::open`], where nothing may follow.
    pub(crate) fn open_all<'a>(&self, bytes: &'a [u8]) -> Result<Opened<'a>, Refusal> {
        let opened = self.open(bytes)?;
        match opened.rest.len() {
            0 => Ok(opened),
            extra => Err(Refusal::new(self.name, "end", Reason::Trailing(extra as u64))),
        }
    }
}
