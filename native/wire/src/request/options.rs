//! The body of describe options.

use crate::primitive::{Malformed, Reader};

/// What the options asked for belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionScope {
    /// Topics.
    Topic,
    /// Streams, which have none.
    Stream,
    /// Users, who have none.
    User,
}

/// The scope asked for.
pub fn option_scope(body: &[u8]) -> Result<OptionScope, Malformed> {
    let mut reader = Reader::new(body);
    let scope = match reader.u8()? {
        1 => OptionScope::Topic,
        2 => OptionScope::Stream,
        3 => OptionScope::User,
        other => return Err(Malformed::Value(u32::from(other))),
    };
    reader.finish()?;
    Ok(scope)
}
