//! The body of get client.

use crate::primitive::{Malformed, Reader};

/// The id of the client asked for.
pub fn client_id(body: &[u8]) -> Result<u32, Malformed> {
    let mut reader = Reader::new(body);
    let client_id = reader.u32()?;
    reader.finish()?;
    Ok(client_id)
}
