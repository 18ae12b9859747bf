//! The packed protocol version a client states when it registers, and the window of versions we accept.

use std::fmt;

/// A protocol version packed into 32 bits: major, minor and patch of ten bits each, the top two bits zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Version(u32);

/// The version we speak, and the highest a rejected client is told of.
pub const MAX: Version = Version::pack(0, 11, 0);

/// The lowest version we accept: ours with its patch zeroed.
pub const MIN: Version = Version(MAX.0 >> PART_BITS << PART_BITS);

const PART_BITS: u32 = 10;
const PART_MAX: u32 = (1 << PART_BITS) - 1;

impl Version {
    /// Packs three parts of at most 1023 each.
    #[must_use]
    pub const fn pack(major: u32, minor: u32, patch: u32) -> Self {
        assert!(
            major <= PART_MAX && minor <= PART_MAX && patch <= PART_MAX,
            "a part of a version has ten bits"
        );
        Self(major << (2 * PART_BITS) | minor << PART_BITS | patch)
    }

    /// The version in these 32 bits of the wire, whatever they hold.
    #[must_use]
    pub const fn from_packed(packed: u32) -> Self {
        Self(packed)
    }

    /// The 32 bits of the wire.
    #[must_use]
    pub const fn packed(self) -> u32 {
        self.0
    }

    /// Major, minor and patch. The two top bits, zero in every valid version, are taken as part of the major.
    #[must_use]
    pub const fn parts(self) -> (u32, u32, u32) {
        (self.0 >> (2 * PART_BITS), self.0 >> PART_BITS & PART_MAX, self.0 & PART_MAX)
    }

    /// Whether a client of this version may register: not below [`MIN`], and major and minor not above ours.
    #[must_use]
    pub const fn is_accepted(self) -> bool {
        self.0 >= MIN.0 && self.0 >> PART_BITS <= MAX.0 >> PART_BITS
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor, patch) = self.parts();
        write!(f, "{major}.{minor}.{patch}")
    }
}
