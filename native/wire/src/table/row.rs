//! Rows of the metadata, field by field: the catalog and the control plane read and write them by one list.

use super::coded;
use crate::primitive::{Malformed, Name, Reader, put_bytes32, put_name8, put_u8, put_u64};

coded! {
    /// Whether a user may log in; the code is also that of requests and replies.
    pub enum UserStatus: u8 {
        /// May log in.
        Active = 1, "active";
        /// May not.
        Inactive = 2, "inactive";
    }
}

coded! {
    /// How a field of a row lies in its bytes.
    pub enum FieldKind: u8 {
        /// Eight bytes.
        U64 = 0, "u64";
        /// A byte, the code of a status.
        UserStatus = 1, "user_status";
        /// A byte of length, then 1 to 255 bytes of UTF-8.
        Name8 = 2, "name8";
        /// Four bytes of length, then that many bytes.
        Bytes32 = 3, "bytes32";
    }
}

/// One field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// What it is called.
    pub name: &'static str,
    /// How it lies in the bytes.
    pub kind: FieldKind,
    /// What it says.
    pub sentence: &'static str,
}

/// The type of a field of some kind.
macro_rules! field_type {
    ($a:lifetime U64) => { u64 };
    ($a:lifetime UserStatus) => { UserStatus };
    ($a:lifetime Name8) => { &$a str };
    ($a:lifetime Bytes32) => { &$a [u8] };
}

/// Reads a field of some kind.
macro_rules! read_field {
    ($reader:ident U64) => {
        $reader.u64()?
    };
    ($reader:ident UserStatus) => {
        read_status($reader)?
    };
    ($reader:ident Name8) => {
        $reader.name8()?
    };
    ($reader:ident Bytes32) => {
        read_bytes32($reader)?
    };
}

/// Appends a field of some kind.
macro_rules! put_field {
    ($into:ident $value:expr, U64) => {
        put_u64($into, $value)
    };
    ($into:ident $value:expr, UserStatus) => {
        put_u8($into, $value.code())
    };
    ($into:ident $value:expr, Name8) => {
        put_name8($into, Name::new($value).expect("the names of rows have 1 to 255 bytes"))
    };
    ($into:ident $value:expr, Bytes32) => {
        put_bytes32($into, $value)
    };
}

/// Declares the fields of a row, each once.
macro_rules! fields {
    (
        $(#[doc = $summary:literal])+
        pub struct $row:ident {
            $( $(#[doc = $sentence:literal])+ $field:ident: $kind:ident, )+
        }
    ) => {
        $(#[doc = $summary])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $row<'a> {
            $( $(#[doc = $sentence])+ pub $field: field_type!('a $kind), )+
        }

        impl<'a> $row<'a> {
            /// What the row is, in a sentence.
            pub const SUMMARY: &'static str = concat!($($summary),+).trim_ascii();

            /// Its fields, in the order of their bytes.
            pub const FIELDS: &'static [Field] = &[$(
                Field {
                    name: stringify!($field),
                    kind: FieldKind::$kind,
                    sentence: concat!($($sentence),+).trim_ascii(),
                },
            )+];

            /// Reads the value of a row.
            pub fn read(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
                Ok(Self { $( $field: read_field!(reader $kind), )+ })
            }

            /// Appends the value of the row.
            pub fn put(&self, into: &mut Vec<u8>) {
                $( put_field!(into self.$field, $kind); )+
            }
        }
    };
}

fields! {
    /// A user.
    pub struct UserFields {
        /// When it was created, in microseconds since the epoch.
        created_at: U64,
        /// Whether the user may log in.
        status: UserStatus,
        /// The name, of 3 to 50 bytes.
        name: Name8,
        /// The encoded Argon2id hash of the password.
        password_hash: Bytes32,
        /// How often the password was changed.
        hash_epoch: U64,
        /// The permissions as clients send them; empty without any.
        permissions: Bytes32,
        /// The options, as a block.
        options: Bytes32,
    }
}

fn read_status(reader: &mut Reader<'_>) -> Result<UserStatus, Malformed> {
    let code = reader.u8()?;
    UserStatus::from_code(code).ok_or(Malformed::Value(code.into()))
}

fn read_bytes32<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], Malformed> {
    let length = reader.u32()?;
    reader.bytes(length as usize)
}
