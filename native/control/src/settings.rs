//! The settings of a node: the engine settings that the control plane sends, and the values derived from
//! them.

use std::time::Duration;

use ng_replication::{OffsetHold, RetentionLimits};
use ng_wire::table::setting::{ConsumerHold, EngineSettings, SettingsError};

use crate::log_pace::LogPace;
use crate::memory_parts::MemoryParts;

/// Minimum entries of a mailbox, because the set capacity divided by many shards could become too small.
const MAILBOX_ENTRIES_MIN: usize = 64;

/// All settings of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Settings that the control plane sends.
    pub engine: EngineSettings,
    /// Entries of the mailbox between two shards.
    pub mailbox_entries: usize,
    /// Sizes and periods of the logs.
    pub pace: LogPace,
    /// Bug that a simulation plants.
    #[cfg(feature = "plants")]
    pub plant: Option<crate::plant::Plant>,
}

/// How the process notifies the watchdog of systemd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watchdog {
    /// Notification socket from `NOTIFY_SOCKET`.
    pub socket: String,
    /// Maximum time between two notifications.
    pub interval: Duration,
}

impl Settings {
    /// Parses the lines that the control plane sends.
    pub fn parse(bytes: &[u8]) -> Result<Self, SettingsError> {
        let engine = EngineSettings::parse(bytes)?;
        // The mailboxes into one shard share the set capacity.
        let mailbox_entries = (engine.inbox_capacity / engine.shard_cpus.len()).max(MAILBOX_ENTRIES_MIN);
        Ok(Self {
            engine,
            mailbox_entries,
            pace: LogPace::default(),
            #[cfg(feature = "plants")]
            plant: None,
        })
    }

    /// Number of shards.
    #[must_use]
    pub fn shards(&self) -> u16 {
        u16::try_from(self.engine.shard_cpus.len()).expect("bounded by SHARDS_MAX")
    }

    /// One shard's parts of the memory budget.
    #[must_use]
    pub const fn memory(&self) -> MemoryParts {
        MemoryParts {
            poll_cache: self.engine.poll_cache_bytes_max,
            poll_reads: self.engine.poll_reads_bytes_max,
            replies: self.engine.replies_bytes_max,
            unflushed: self.engine.unflushed_bytes_max,
            connections: self.engine.connections_bytes_max,
            spares: self.engine.spares_bytes_max,
        }
    }

    /// Retention limits: when messages expire, and which of them consumers protect.
    #[must_use]
    pub fn retention(&self) -> RetentionLimits {
        let hold = match self.engine.consumer_hold {
            ConsumerHold::Always => OffsetHold::Always,
            ConsumerHold::Never => OffsetHold::Never,
            ConsumerHold::Seen(time) => OffsetHold::Seen(millis(time)),
        };
        let period = Some(millis(self.engine.retention_period)).filter(|period| *period > 0);
        RetentionLimits { period, hold }
    }

    /// The watchdog, if systemd runs one for this process.
    #[must_use]
    pub fn watchdog(&self) -> Option<Watchdog> {
        let EngineSettings { notify_socket, watchdog_us, .. } = &self.engine;
        let watched = !notify_socket.is_empty() && *watchdog_us > 0;
        let interval = Duration::from_micros(*watchdog_us);
        watched.then(|| Watchdog { socket: notify_socket.clone(), interval })
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use ng_wire::table::setting::sample_lines;

    use super::*;

    fn settings(changes: &[(&str, &str)]) -> Settings {
        Settings::parse(sample_lines(changes).as_bytes()).expect("complete")
    }

    #[test]
    fn mailboxes_share_the_capacity() {
        let entries =
            |capacity| settings(&[("shard_cpus", "-,-"), ("inbox_capacity", capacity)]).mailbox_entries;
        assert_eq!(entries("1024"), 512);
        assert_eq!(entries("100"), 64);
    }

    #[test]
    fn retention_has_its_limits() {
        let hold = ("consumer_hold", "86400000");
        assert_eq!(settings(&[hold]).retention(), RetentionLimits::default());
        for (change, retention) in [
            (("retention_period", "0"), RetentionLimits { period: None, ..RetentionLimits::default() }),
            (
                ("consumer_hold", "all"),
                RetentionLimits { hold: OffsetHold::Always, ..RetentionLimits::default() },
            ),
            (
                ("consumer_hold", "none"),
                RetentionLimits { hold: OffsetHold::Never, ..RetentionLimits::default() },
            ),
        ] {
            assert_eq!(settings(&[change, hold]).retention(), retention, "{change:?}");
        }
    }

    #[test]
    fn a_watchdog_has_a_socket_and_an_interval() {
        let (socket, interval) = (("notify_socket", "@systemd"), ("watchdog_us", "3000"));
        assert_eq!(settings(&[socket]).watchdog(), None);
        assert_eq!(settings(&[interval]).watchdog(), None);
        let watchdog = Watchdog { socket: "@systemd".to_owned(), interval: Duration::from_millis(3) };
        assert_eq!(settings(&[socket, interval]).watchdog(), Some(watchdog));
    }
}
