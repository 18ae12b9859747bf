//! What is written to a file.

use std::ops::Deref;

use crate::buffer::Buffer;
use crate::chunk::Framed;

/// Bytes on their way to a file, the writer's own or shared with readers.
#[derive(Debug)]
pub enum Output {
    /// A buffer of its own.
    Owned(Buffer),
    /// Bytes that others read meanwhile, and what is in front of them.
    Framed(Framed),
}

impl Output {
    /// What may still be changed of it: all of a buffer, or what is in front of the bytes that others read.
    pub fn front_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Owned(buffer) => buffer,
            Self::Framed(frame) => frame.front_mut(),
        }
    }

    /// The memory, if it is nobody else's.
    #[must_use]
    pub fn into_buffer(self) -> Option<Buffer> {
        match self {
            Self::Owned(buffer) => Some(buffer),
            Self::Framed(_) => None,
        }
    }
}

impl Deref for Output {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Owned(buffer) => buffer,
            Self::Framed(frame) => frame,
        }
    }
}

impl From<Buffer> for Output {
    fn from(buffer: Buffer) -> Self {
        Self::Owned(buffer)
    }
}
