//! Reads the values of the engine: lines of `key=value`.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use thiserror::Error;

use crate::table::coded;

coded! {
    /// Which I/O backend to use.
    pub enum Backend: u8 {
        /// The ring where it works, else the other one.
        Auto = 0, "auto";
        /// epoll and positional I/O.
        Posix = 1, "posix";
        /// io_uring, or no start at all.
        Uring = 2, "uring";
    }
}

/// Whether the stored offset of a consumer protects messages from retention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConsumerHold {
    /// As long as the offset is stored.
    Always,
    /// Not at all.
    Never,
    /// Until the consumer has not been seen for so long.
    Seen(Duration),
}

/// Why settings were not taken.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SettingsError {
    /// Not lines of `key=value` in UTF-8.
    #[error("settings are not lines of key=value")]
    Layout,
    /// A key is missing.
    #[error("setting {0} is missing")]
    Missing(&'static str),
    /// A value does not parse or is out of bounds.
    #[error("setting {key} cannot be {value:?}")]
    Value {
        /// The key.
        key: &'static str,
        /// Its value.
        value: String,
    },
    /// A key that no field has.
    #[error("setting {0} is unknown")]
    Unknown(String),
}

/// Lines that are still to be read. A row of the table names the method that reads its value.
pub(super) struct Lines<'a>(BTreeMap<&'a str, &'a str>);

type Key = &'static str;

impl<'a> Lines<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, SettingsError> {
        let text = std::str::from_utf8(bytes).map_err(|_| SettingsError::Layout)?;
        text.lines()
            .map(|line| line.split_once('=').ok_or(SettingsError::Layout))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Every line must have been read.
    pub(super) fn finish(self) -> Result<(), SettingsError> {
        match self.0.into_keys().next() {
            None => Ok(()),
            Some(key) => Err(SettingsError::Unknown(key.to_owned())),
        }
    }

    fn take(&mut self, key: Key) -> Result<&'a str, SettingsError> {
        self.0.remove(key).ok_or(SettingsError::Missing(key))
    }

    fn parsed<T>(&mut self, key: Key, parse: impl FnOnce(&'a str) -> Option<T>) -> Result<T, SettingsError> {
        let value = self.take(key)?;
        parse(value).ok_or_else(|| SettingsError::Value { key, value: value.to_owned() })
    }

    pub(super) fn text(&mut self, key: Key) -> Result<String, SettingsError> {
        self.take(key).map(str::to_owned)
    }

    pub(super) fn path(&mut self, key: Key) -> Result<PathBuf, SettingsError> {
        self.take(key).map(PathBuf::from)
    }

    pub(super) fn address(&mut self, key: Key) -> Result<SocketAddr, SettingsError> {
        self.parsed(key, |text| text.parse().ok())
    }

    pub(super) fn number<T: FromStr + PartialOrd + Copy>(
        &mut self,
        key: Key,
        min: T,
    ) -> Result<T, SettingsError> {
        self.parsed(key, |text| text.parse().ok().filter(|number| *number >= min))
    }

    pub(super) fn millis(&mut self, key: Key, min: u64) -> Result<Duration, SettingsError> {
        self.number(key, min).map(Duration::from_millis)
    }

    pub(super) fn truth(&mut self, key: Key) -> Result<bool, SettingsError> {
        self.parsed(key, |text| text.parse().ok())
    }

    pub(super) fn backend(&mut self, key: Key) -> Result<Backend, SettingsError> {
        self.parsed(key, |text| Backend::ALL.iter().copied().find(|backend| backend.name() == text))
    }

    /// `all`, `none`, or milliseconds.
    pub(super) fn hold(&mut self, key: Key) -> Result<ConsumerHold, SettingsError> {
        self.parsed(key, |text| match text {
            "all" => Some(ConsumerHold::Always),
            "none" => Some(ConsumerHold::Never),
            text => text.parse().ok().map(|millis| ConsumerHold::Seen(Duration::from_millis(millis))),
        })
    }

    /// One entry for each shard, separated by commas: a CPU number, or `-` for any.
    pub(super) fn shards(&mut self, key: Key, max: usize) -> Result<Vec<Option<usize>>, SettingsError> {
        self.parsed(key, |text| {
            let cpus: Option<Vec<Option<usize>>> = text
                .split(',')
                .map(|entry| if entry == "-" { Some(None) } else { entry.parse().ok().map(Some) })
                .collect();
            cpus.filter(|cpus| (1..=max).contains(&cpus.len()))
        })
    }
}
