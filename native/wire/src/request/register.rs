//! The body of a registration: who the client is made by, and who its user is.

use std::fmt;

use thiserror::Error;

use crate::frame::{FRAME_BYTES_MAX, LARGE_REPLY_BYTES_MAX, UNCAPPED_SDK};
use crate::primitive::{Malformed, Reader};
use crate::table::eviction::EvictionReason;
use crate::version::Version;

/// A registration whose protocol version we accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register<'a> {
    /// The protocol version of the client.
    pub version: Version,
    /// The name of the client library.
    pub sdk_name: &'a str,
    /// The version of the client library.
    pub sdk_version: &'a str,
    /// What the client proves its user with.
    pub credentials: Credentials<'a>,
}

/// What a client proves its user with. Only the layout was judged, not the lengths a server asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Credentials<'a> {
    /// A user name of 1 to 255 bytes and a password of 0 to 255.
    Password {
        /// The name.
        username: &'a str,
        /// The password, which need not be UTF-8.
        password: &'a [u8],
    },
    /// A personal access token of 0 to 255 bytes.
    Token(&'a [u8]),
}

/// Why a registration is refused before its credentials are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum RegisterFault {
    /// The body does not begin with a version and two names.
    #[error("the login does not begin with a version and the client's name")]
    Prefix,
    /// The protocol version is outside the window we accept.
    #[error("protocol version {0} is not accepted")]
    Version(Version),
    /// What follows the names is neither a user and a password nor a token.
    #[error("the login holds neither a password nor a token")]
    Shape,
}

impl RegisterFault {
    /// The reason the client is evicted with.
    #[must_use]
    pub const fn eviction(self) -> EvictionReason {
        match self {
            Self::Prefix | Self::Shape => EvictionReason::MalformedLogin,
            Self::Version(_) => EvictionReason::IncompatibleProtocol,
        }
    }
}

impl<'a> Register<'a> {
    /// Reads a body. The version is judged before anything behind the client's name is looked at.
    pub fn decode(body: &'a [u8]) -> Result<Self, RegisterFault> {
        let mut reader = Reader::new(body);
        let (version, sdk_name, sdk_version) = prefix(&mut reader).map_err(|_| RegisterFault::Prefix)?;
        if !version.is_accepted() {
            return Err(RegisterFault::Version(version));
        }
        let credentials =
            password(reader.clone()).or_else(|_| token(reader)).map_err(|_| RegisterFault::Shape)?;
        Ok(Self { version, sdk_name, sdk_version, credentials })
    }

    /// The longest reply frame that the client library takes.
    #[must_use]
    pub fn reply_bytes_max(&self) -> u32 {
        if self.sdk_name == UNCAPPED_SDK { LARGE_REPLY_BYTES_MAX } else { FRAME_BYTES_MAX }
    }
}

fn prefix<'a>(reader: &mut Reader<'a>) -> Result<(Version, &'a str, &'a str), Malformed> {
    Ok((Version::from_packed(reader.u32()?), reader.name8()?, reader.name8()?))
}

/// Both shapes end with a context nobody uses yet and must take up the whole rest: that is what tells them
/// apart.
fn password(mut reader: Reader<'_>) -> Result<Credentials<'_>, Malformed> {
    let credentials = Credentials::Password { username: reader.name8()?, password: reader.bytes8()? };
    reader.str32()?;
    reader.finish()?;
    Ok(credentials)
}

fn token(mut reader: Reader<'_>) -> Result<Credentials<'_>, Malformed> {
    let credentials = Credentials::Token(reader.bytes8()?);
    reader.str32()?;
    reader.finish()?;
    Ok(credentials)
}

impl fmt::Debug for Credentials<'_> {
    /// Names the user and never the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Password { username, .. } => {
                f.debug_struct("Password").field("username", username).finish_non_exhaustive()
            }
            Self::Token(_) => f.debug_tuple("Token").finish_non_exhaustive(),
        }
    }
}
