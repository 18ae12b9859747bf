//! The bodies of commands that name a user, and of those that make and change one.

use super::identifier::Identifier;
use super::option_block::OptionBlock;
use crate::permissions::Permissions;
use crate::primitive::{Malformed, Reader};
use crate::table::error::ErrorCode;
use crate::table::limit::{is_password_length, is_username_length};

/// The body of get and delete user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserTarget<'a> {
    /// The user.
    pub user: Identifier<'a>,
}

/// The body of create user, without a `Debug` form: it holds a password.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CreateUser<'a> {
    /// The name.
    pub username: &'a str,
    /// The password, which need not be UTF-8.
    pub password: &'a [u8],
    /// The code of the status; one without a meaning stands for active.
    pub status: u8,
    /// The permissions, if it brings any.
    pub permissions: Option<&'a [u8]>,
    /// The options, of which a user has none.
    pub options: OptionBlock<'a>,
}

/// The body of update user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpdateUser<'a> {
    /// The user.
    pub user: Identifier<'a>,
    /// Its name from now on, unless it stays.
    pub username: Option<&'a str>,
    /// The code of its status from now on, unless that stays; one without a meaning changes nothing.
    pub status: Option<u8>,
    /// The options, of which a user has none.
    pub options: OptionBlock<'a>,
}

/// The body of update permissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpdatePermissions<'a> {
    /// The user.
    pub user: Identifier<'a>,
    /// Its permissions from now on; without them it has none.
    pub permissions: Option<&'a [u8]>,
}

/// The body of change password, without a `Debug` form: it holds passwords.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ChangePassword<'a> {
    /// The user.
    pub user: Identifier<'a>,
    /// The password that the user has.
    pub current: &'a [u8],
    /// The password from now on.
    pub new: &'a [u8],
}

impl<'a> UserTarget<'a> {
    /// Reads a body.
    pub fn decode(body: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let target = Self { user: Identifier::read(&mut reader)? };
        reader.finish()?;
        Ok(target)
    }

    /// Reads the user that the body of any command on a user begins with.
    pub fn front(body: &'a [u8]) -> Result<Self, Malformed> {
        Ok(Self { user: Identifier::read(&mut Reader::new(body))? })
    }
}

impl<'a> CreateUser<'a> {
    /// Reads a body; of permissions and options only the extent.
    pub fn decode(body: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        Ok(Self {
            username: reader.name8()?,
            password: reader.bytes8()?,
            status: reader.u8()?,
            permissions: permissions(&mut reader)?,
            options: OptionBlock::rest(reader),
        })
    }

    /// What can be judged without knowing the users.
    pub fn check(&self) -> Result<(), ErrorCode> {
        check_username(self.username)?;
        check_password(self.password)?;
        check_permissions(self.permissions)?;
        self.options.check_none()
    }
}

impl<'a> UpdateUser<'a> {
    /// Reads a body; of the options only the extent.
    pub fn decode(body: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let user = Identifier::read(&mut reader)?;
        let username = if reader.u8()? == 0 { None } else { Some(reader.name8()?) };
        let status = if reader.u8()? == 0 { None } else { Some(reader.u8()?) };
        Ok(Self { user, username, status, options: OptionBlock::rest(reader) })
    }

    /// What can be judged without knowing the users.
    pub fn check(&self) -> Result<(), ErrorCode> {
        self.username.map_or(Ok(()), check_username)?;
        self.options.check_none()
    }
}

impl<'a> UpdatePermissions<'a> {
    /// Reads a body; of the permissions only the extent.
    pub fn decode(body: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let change = Self { user: Identifier::read(&mut reader)?, permissions: permissions(&mut reader)? };
        reader.finish()?;
        Ok(change)
    }

    /// What can be judged without knowing the users.
    pub fn check(&self) -> Result<(), ErrorCode> {
        check_permissions(self.permissions)
    }
}

impl<'a> ChangePassword<'a> {
    /// Reads a body.
    pub fn decode(body: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body);
        let change =
            Self { user: Identifier::read(&mut reader)?, current: reader.bytes8()?, new: reader.bytes8()? };
        reader.finish()?;
        Ok(change)
    }

    /// What can be judged without knowing the users. A current password of a length that none has is wrong,
    /// which is for the verification to say.
    pub fn check(&self) -> Result<(), ErrorCode> {
        check_password(self.new)
    }
}

/// A block of permissions behind its length, if a byte of 1 announces it.
fn permissions<'a>(reader: &mut Reader<'a>) -> Result<Option<&'a [u8]>, Malformed> {
    if reader.u8()? != 1 {
        return Ok(None);
    }
    let length = reader.u32()?;
    reader.bytes(length as usize).map(Some)
}

const fn check_username(username: &str) -> Result<(), ErrorCode> {
    if is_username_length(username.len()) { Ok(()) } else { Err(ErrorCode::InvalidUsername) }
}

const fn check_password(password: &[u8]) -> Result<(), ErrorCode> {
    if is_password_length(password.len()) { Ok(()) } else { Err(ErrorCode::InvalidPassword) }
}

fn check_permissions(permissions: Option<&[u8]>) -> Result<(), ErrorCode> {
    permissions
        .map_or(Ok(()), |block| Permissions::decode(block).map(drop).map_err(|_| ErrorCode::InvalidCommand))
}
