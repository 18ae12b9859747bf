//! Finding the batch of an offset by headers alone, so that a reader of a range need not read what lies before it.

use super::walk::{Stop, Walk};

/// Where a search stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seat {
    /// Position of the last batch seen that begins at the wanted offset or before, if one was.
    pub found: Option<usize>,
    /// Position of the next header to look at; it may lie beyond the piece.
    pub next: u64,
    /// Whether to look there: the batches behind begin after the offset, or there are none, if not.
    pub goes_on: bool,
}

/// Goes from header to header while batches begin at `offset` or before.
///
/// Nothing is hashed: what is found is verified when it is read, and held against the offsets around it.
pub fn seek(piece: &[u8], walk: &Walk, offset: u64) -> Result<Seat, Stop> {
    let mut walk = *walk;
    let mut seat = Seat { found: None, next: 0, goes_on: true };
    loop {
        let Some((at, rest)) =
            usize::try_from(seat.next).ok().and_then(|at| piece.get(at..).map(|rest| (at, rest)))
        else {
            return Ok(seat);
        };
        let header = match walk.header(rest, at) {
            Ok(header) => header,
            Err(Stop::More(_)) => return Ok(seat),
            Err(Stop::End) => return Ok(Seat { goes_on: false, ..seat }),
            Err(stop) => return Err(stop),
        };
        if header.base_offset > offset {
            return Ok(Seat { goes_on: false, ..seat });
        }
        walk.after = header.base_offset.saturating_add(1);
        seat = Seat { found: Some(at), next: at as u64 + header.length, goes_on: true };
    }
}
