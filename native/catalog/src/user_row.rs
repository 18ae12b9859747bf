use std::fmt;

use ng_wire::permissions::Permissions;
use ng_wire::primitive::{Malformed, Reader};
use ng_wire::table::row::{UserFields, UserStatus};

use crate::name::RowName;

/// A user.
#[derive(Clone, PartialEq, Eq)]
pub struct UserRow {
    /// When it was made, in microseconds since the epoch.
    pub created_at: u64,
    /// Whether it may log in.
    pub status: UserStatus,
    /// Its name.
    pub name: RowName,
    /// The encoded hash of its password.
    pub password_hash: Box<[u8]>,
    /// How often its password was changed.
    pub hash_epoch: u64,
    /// Its permissions as clients send them; empty without any.
    pub permissions: Box<[u8]>,
    /// The options it was given, as a block.
    pub options: Box<[u8]>,
}

impl UserRow {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let fields = UserFields::read(reader)?;
        let row = Self {
            created_at: fields.created_at,
            status: fields.status,
            name: RowName::new(fields.name).ok_or(Malformed::EmptyName)?,
            password_hash: fields.password_hash.into(),
            hash_epoch: fields.hash_epoch,
            permissions: fields.permissions.into(),
            options: fields.options.into(),
        };
        row.decoded_permissions()?;
        Ok(row)
    }

    /// The permissions in a value.
    pub(crate) fn decoded_permissions(&self) -> Result<Permissions, Malformed> {
        if self.permissions.is_empty() {
            return Ok(Permissions::default());
        }
        Permissions::decode(&self.permissions)
    }

    pub(crate) fn put(&self, into: &mut Vec<u8>) {
        let fields = UserFields {
            created_at: self.created_at,
            status: self.status,
            name: self.name.as_str(),
            password_hash: &self.password_hash,
            hash_epoch: self.hash_epoch,
            permissions: &self.permissions,
            options: &self.options,
        };
        fields.put(into);
    }
}

impl fmt::Debug for UserRow {
    /// Names the user and never the hash.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut row = formatter.debug_struct("UserRow");
        row.field("name", &self.name).field("status", &self.status).finish_non_exhaustive()
    }
}
