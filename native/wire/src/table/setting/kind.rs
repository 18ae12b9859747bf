//! Kinds of settings: how a value is read, its default and its bounds.

/// Bytes of a KiB.
pub(super) const KIB: u64 = 1 << 10;
/// Bytes of a MiB.
pub(super) const MIB: u64 = 1 << 20;
/// Bytes of a GiB.
pub(super) const GIB: u64 = 1 << 30;
/// Bytes of a TiB.
pub(super) const TIB: u64 = 1 << 40;
/// Milliseconds of a second.
pub(super) const SECOND: u64 = 1_000;
/// Milliseconds of an hour.
pub(super) const HOUR: u64 = 3_600 * SECOND;
/// Milliseconds of a day.
pub(super) const DAY: u64 = 24 * HOUR;

/// A default and the bounds of a value; the bounds are allowed values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounded {
    /// The default value.
    pub default: u64,
    /// The least value.
    pub least: u64,
    /// The greatest value.
    pub most: u64,
}

/// How a value is read, and its default. Texts are as the operator writes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingKind {
    /// True or false.
    Boolean(bool),
    /// A number of things, which have a name.
    Count(Bounded, &'static str),
    /// Bytes.
    Size(Bounded),
    /// Milliseconds.
    Duration(Bounded),
    /// An IP address and a port.
    Address(&'static str),
    /// A path.
    Path(&'static str),
    /// A printable text.
    Text(&'static str),
    /// One of some words.
    Choice {
        /// The default word.
        default: &'static str,
        /// The words.
        words: &'static [&'static str],
        /// Synonyms, each with its word.
        synonyms: &'static [(&'static str, &'static str)],
    },
    /// How long the offset of an idle consumer counts: a duration, `all` or `none`.
    ConsumerIdle(&'static str),
    /// Processors for the shards.
    Cpus(&'static str),
}

pub(super) const fn boolean(default: bool) -> SettingKind {
    SettingKind::Boolean(default)
}

pub(super) const fn count(default: u64, least: u64, most: u64, things: &'static str) -> SettingKind {
    SettingKind::Count(Bounded { default, least, most }, things)
}

pub(super) const fn size(default: u64, least: u64, most: u64) -> SettingKind {
    SettingKind::Size(Bounded { default, least, most })
}

pub(super) const fn duration(default: u64, least: u64, most: u64) -> SettingKind {
    SettingKind::Duration(Bounded { default, least, most })
}

pub(super) const fn address(default: &'static str) -> SettingKind {
    SettingKind::Address(default)
}

pub(super) const fn path(default: &'static str) -> SettingKind {
    SettingKind::Path(default)
}

pub(super) const fn text(default: &'static str) -> SettingKind {
    SettingKind::Text(default)
}

pub(super) const fn choice(
    default: &'static str,
    words: &'static [&'static str],
    synonyms: &'static [(&'static str, &'static str)],
) -> SettingKind {
    SettingKind::Choice { default, words, synonyms }
}

pub(super) const fn consumer_idle(default: &'static str) -> SettingKind {
    SettingKind::ConsumerIdle(default)
}

pub(super) const fn cpus(default: &'static str) -> SettingKind {
    SettingKind::Cpus(default)
}
