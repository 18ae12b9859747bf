//! Bounds of users that every build has in common: no setting moves them.

/// A bound that Python shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The name of the constant.
    pub name: &'static str,
    /// The number.
    pub value: u32,
    /// What it bounds.
    pub sentence: &'static str,
}

/// Declares the bounds: each is a constant and a row.
macro_rules! limits {
    ($( $(#[doc = $sentence:literal])+ $name:ident = $value:literal; )+) => {
        $( $(#[doc = $sentence])+ pub const $name: u32 = $value; )+

        /// Every bound.
        pub const LIMITS: &[Limit] = &[$(
            Limit {
                name: stringify!($name),
                value: $value,
                sentence: concat!($($sentence),+).trim_ascii(),
            },
        )+];
    };
}

limits! {
    /// Users of a cluster.
    USERS_MAX = 65_536;
    /// Bytes of a user name, at least.
    USERNAME_BYTES_MIN = 3;
    /// Bytes of a user name, at most.
    USERNAME_BYTES_MAX = 50;
    /// Bytes of a password, at least.
    PASSWORD_BYTES_MIN = 3;
    /// Bytes of a password, at most.
    PASSWORD_BYTES_MAX = 100;
    /// Commands that wait for a password hash before they go into the log.
    ENRICHMENTS_MAX = 256;
}

/// Whether a user may have a name of this many bytes.
#[must_use]
pub const fn is_username_length(bytes: usize) -> bool {
    USERNAME_BYTES_MIN as usize <= bytes && bytes <= USERNAME_BYTES_MAX as usize
}

/// Whether a password may have this many bytes.
#[must_use]
pub const fn is_password_length(bytes: usize) -> bool {
    PASSWORD_BYTES_MIN as usize <= bytes && bytes <= PASSWORD_BYTES_MAX as usize
}
