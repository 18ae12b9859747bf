//! Reading the bodies of records while the journal works.

use ng_io::{Buffer, Driver, Environment, Operation, Token};

use super::JournalShell;
use crate::PAGE;
use crate::journal::Located;

impl<E: Environment> JournalShell<E> {
    /// Reads what holds the body of a located record; false if its block has not been written yet. The completion comes with
    /// the caller's own token, for [`body_in`]. By then the file may have been freed and written anew: the body is held
    /// against the record's header, and looked for again if it is another.
    pub fn read_body(&mut self, driver: &mut E::Driver, located: &Located, token: Token) -> bool {
        let Some(file) = located.file else { return false };
        let (offset, length) = span(located);
        let buffer = Buffer::aligned(length);
        driver.submit(token, Operation::ReadAt { file: self.handle(file), buffer, offset });
        true
    }
}

/// The body in what [`JournalShell::read_body`] read, unless less was read than that.
#[must_use]
pub fn body_in(located: &Located, buffer: &Buffer) -> Option<Vec<u8>> {
    let (offset, _) = span(located);
    let start = usize::try_from(located.offset - offset).ok()?;
    buffer.get(start..start + located.length as usize).map(<[u8]>::to_vec)
}

/// The whole pages around a body, and at least one: a body of no bytes is read like any other.
fn span(located: &Located) -> (u64, usize) {
    let page = PAGE as u64;
    let offset = located.offset / page * page;
    let end = located.offset + u64::from(located.length.max(1));
    (offset, usize::try_from(end.next_multiple_of(page) - offset).unwrap_or(usize::MAX))
}
