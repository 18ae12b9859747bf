//! What a node is told at its start, as lines of `key=value`.
//!
//! The control plane has validated and explained every value to its user before; what fails here is a disagreement
//! between the two halves of one build, so the first fault is enough.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use thiserror::Error;

use crate::log::{OffsetHold, RetentionLimits};
use crate::log_pace::LogPace;
use crate::memory_parts::MemoryParts;

/// The highest number of shards, which is what a data directory can name.
pub const SHARDS_MAX: usize = 1024;

/// No mailbox is smaller than this, however many shards share the capacity that is set.
const MAILBOX_ENTRIES_MIN: usize = 64;

/// One file is written, one is freed, two are kept for what must be moved out of the way, and one is for growth.
pub const JOURNAL_FILES_MIN: u32 = 5;

/// Which I/O backend to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// The ring where it works, else the other one.
    Auto,
    /// epoll and positional I/O.
    Posix,
    /// io_uring, or no start at all.
    Uring,
}

/// Everything a node needs to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The I/O backend.
    pub backend: Backend,
    /// The CPU of each shard; `None` leaves a shard to the scheduler. Its length is the number of shards.
    pub cpus: Vec<Option<usize>>,
    /// Entries of the mailbox between two shards.
    pub mailbox_entries: usize,
    /// Where TCP clients are accepted.
    pub tcp: SocketAddr,
    /// Connections the kernel keeps while we are busy.
    pub backlog: u32,
    /// The largest frame, header included.
    pub frame_bytes_max: u32,
    /// Connections of the process.
    pub connections_max: usize,
    /// Connections without a session.
    pub strangers_max: usize,
    /// Sessions of the process.
    pub sessions_max: usize,
    /// Logins that wait for a verdict.
    pub logins_max: usize,
    /// What a started frame may take before its size counts.
    pub frame_time: Duration,
    /// How long a client may take nothing of a reply that is on its way to it.
    pub send_timeout: Duration,
    /// How long a stop waits for answers still owed.
    pub drain_timeout: Duration,
    /// How long a stop waits for threads after that.
    pub join_timeout: Duration,
    /// Python silent for longer has its stacks dumped.
    pub stall_dump: Duration,
    /// Python silent for longer is not alive as far as systemd is concerned.
    pub stall_max: Duration,
    /// systemd's watchdog, if it watches.
    pub watchdog: Option<Watchdog>,
    /// Where everything that is to last lies.
    pub data_directory: PathBuf,
    /// Whether files there may bypass the page cache.
    pub direct_io: bool,
    /// Files that the journal of a shard may grow to.
    pub journal_files_max: u32,
    /// Consumers of one partition whose offsets are kept.
    pub consumer_offsets_max: u32,
    /// What a shard may have of the memory budget.
    pub memory: MemoryParts,
    /// Bytes of messages that one poll is answered with at most, if the frame has room for them.
    pub poll_reply_bytes_max: usize,
    /// When messages go by themselves, and what consumers hold back.
    pub retention: RetentionLimits,
    /// How much of a log is done at a time.
    pub pace: LogPace,
    /// A known bug.
    #[cfg(feature = "plants")]
    pub plant: Option<crate::plant::Plant>,
    /// Where the reason of a crash is left.
    pub crash_file: PathBuf,
    /// The cluster's name.
    pub cluster_name: String,
}

/// How systemd is told that the process lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watchdog {
    /// Its notification socket, as `NOTIFY_SOCKET` names it.
    pub socket: String,
    /// It expects a sign of life at least this often.
    pub interval: Duration,
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
    /// A key nobody reads.
    #[error("setting {0} is unknown")]
    Unknown(String),
}

impl Settings {
    /// Reads settings.
    pub fn parse(bytes: &[u8]) -> Result<Self, SettingsError> {
        let mut lines = Lines::read(bytes)?;
        let cpus = lines.cpus()?;
        let settings = Self {
            backend: match lines.text("backend")? {
                "auto" => Backend::Auto,
                "posix" => Backend::Posix,
                "uring" => Backend::Uring,
                other => return Err(fault("backend", other)),
            },
            mailbox_entries: mailbox_entries(lines.number("inbox_capacity", 1)?, cpus.len()),
            cpus,
            tcp: lines.number_like("tcp_address")?,
            backlog: lines.number("accept_backlog", 1)?,
            frame_bytes_max: lines.number("frame_bytes_max", ng_wire::frame::HEADER_SIZE)?,
            connections_max: lines.number("connections_max", 1)?,
            strangers_max: lines.number("strangers_max", 1)?,
            sessions_max: lines.number("sessions_max", 1)?,
            logins_max: lines.number("logins_max", 1)?,
            frame_time: lines.millis("frame_time_ms")?,
            send_timeout: lines.millis("send_timeout_ms")?,
            drain_timeout: lines.millis("drain_timeout_ms")?,
            join_timeout: lines.millis("join_timeout_ms")?,
            stall_dump: lines.millis("stall_dump_ms")?,
            stall_max: lines.millis("stall_max_ms")?,
            watchdog: lines.watchdog()?,
            data_directory: PathBuf::from(lines.text("data_directory")?),
            direct_io: lines.truth("direct_io")?,
            journal_files_max: lines.number("journal_files_max", JOURNAL_FILES_MIN)?,
            consumer_offsets_max: lines.number("consumer_offsets_max", 1)?,
            memory: lines.memory()?,
            poll_reply_bytes_max: lines.number("poll_reply_bytes_max", 1)?,
            retention: lines.retention()?,
            pace: LogPace::default(),
            #[cfg(feature = "plants")]
            plant: None,
            crash_file: PathBuf::from(lines.text("crash_file")?),
            cluster_name: lines.text("cluster_name")?.to_owned(),
        };
        match lines.0.into_keys().next() {
            None => Ok(settings),
            Some(key) => Err(SettingsError::Unknown(key.to_owned())),
        }
    }

    /// How many shards there are.
    pub fn shards(&self) -> u16 {
        u16::try_from(self.cpus.len()).expect("bounded by SHARDS_MAX")
    }
}

/// The mailboxes into one shard share the capacity that is set.
fn mailbox_entries(inbox_capacity: usize, shards: usize) -> usize {
    (inbox_capacity / shards).max(MAILBOX_ENTRIES_MIN)
}

fn fault(key: &'static str, value: &str) -> SettingsError {
    SettingsError::Value { key, value: value.to_owned() }
}

struct Lines<'a>(HashMap<&'a str, &'a str>);

impl<'a> Lines<'a> {
    fn read(bytes: &'a [u8]) -> Result<Self, SettingsError> {
        let text = std::str::from_utf8(bytes).map_err(|_| SettingsError::Layout)?;
        text.lines()
            .map(|line| line.split_once('=').ok_or(SettingsError::Layout))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    fn text(&mut self, key: &'static str) -> Result<&'a str, SettingsError> {
        self.0.remove(key).ok_or(SettingsError::Missing(key))
    }

    fn number_like<T: FromStr>(&mut self, key: &'static str) -> Result<T, SettingsError> {
        let text = self.text(key)?;
        text.parse().map_err(|_| fault(key, text))
    }

    fn number<T: FromStr + PartialOrd + Copy>(
        &mut self,
        key: &'static str,
        min: T,
    ) -> Result<T, SettingsError> {
        let text = self.text(key)?;
        text.parse().ok().filter(|number| *number >= min).ok_or_else(|| fault(key, text))
    }

    fn millis(&mut self, key: &'static str) -> Result<Duration, SettingsError> {
        self.number(key, 1).map(Duration::from_millis)
    }

    fn truth(&mut self, key: &'static str) -> Result<bool, SettingsError> {
        match self.text(key)? {
            "true" => Ok(true),
            "false" => Ok(false),
            other => Err(fault(key, other)),
        }
    }

    /// One entry for each shard, separated by commas: a CPU number, or `-` for any.
    fn cpus(&mut self) -> Result<Vec<Option<usize>>, SettingsError> {
        const KEY: &str = "shard_cpus";
        let text = self.text(KEY)?;
        let cpus: Option<Vec<Option<usize>>> = text
            .split(',')
            .map(|entry| if entry == "-" { Some(None) } else { entry.parse().ok().map(Some) })
            .collect();
        cpus.filter(|cpus| (1..=SHARDS_MAX).contains(&cpus.len())).ok_or_else(|| fault(KEY, text))
    }

    /// A line for each part of the memory budget.
    fn memory(&mut self) -> Result<MemoryParts, SettingsError> {
        Ok(MemoryParts {
            poll_cache: self.number("poll_cache_bytes_max", 0)?,
            poll_reads: self.number("poll_reads_bytes_max", 1)?,
            replies: self.number("replies_bytes_max", 1)?,
            unflushed: self.number("unflushed_bytes_max", 1)?,
            connections: self.number("connections_bytes_max", 1)?,
            spares: self.number("spares_bytes_max", 0)?,
        })
    }

    /// Milliseconds, of which 0 stands for never; `all`, `none`, or milliseconds.
    fn retention(&mut self) -> Result<RetentionLimits, SettingsError> {
        const KEY: &str = "consumer_hold";
        let period = self.number::<u64>("retention_period_ms", 0)?;
        let hold = match self.text(KEY)? {
            "all" => OffsetHold::Always,
            "none" => OffsetHold::Never,
            text => OffsetHold::Seen(text.parse().map_err(|_| fault(KEY, text))?),
        };
        Ok(RetentionLimits { period: Some(period).filter(|period| *period > 0), hold })
    }

    /// Absent, or both the socket and the interval.
    fn watchdog(&mut self) -> Result<Option<Watchdog>, SettingsError> {
        let socket = self.text("notify_socket")?;
        let interval = self.number::<u64>("watchdog_us", 0)?;
        let watched = !socket.is_empty() && interval > 0;
        Ok(watched.then(|| Watchdog { socket: socket.to_owned(), interval: Duration::from_micros(interval) }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "backend=auto\nshard_cpus=0,-\ninbox_capacity=1024\ntcp_address=127.0.0.1:0\naccept_backlog=4096\n\
        frame_bytes_max=67108864\nconnections_max=20480\nstrangers_max=4096\nsessions_max=16384\nlogins_max=256\n\
        frame_time_ms=10000\nsend_timeout_ms=30000\ndrain_timeout_ms=10000\njoin_timeout_ms=30000\nstall_dump_ms=5000\nstall_max_ms=60000\n\
        notify_socket=\nwatchdog_us=0\ndata_directory=data\ndirect_io=true\njournal_files_max=8\nconsumer_offsets_max=4096\nunflushed_bytes_max=67108864\n\
        poll_cache_bytes_max=0\npoll_reads_bytes_max=8\nreplies_bytes_max=16\nconnections_bytes_max=4\nspares_bytes_max=2\npoll_reply_bytes_max=67108864\nretention_period_ms=60000\nconsumer_hold=86400000\ncrash_file=runtime/last_crash.json\ncluster_name=single-node";

    #[test]
    fn complete_settings_are_taken() {
        let settings = Settings::parse(GOOD.as_bytes()).expect("complete");
        assert_eq!(settings.cpus, [Some(0), None]);
        assert_eq!(settings.mailbox_entries, 512);
        let small = GOOD.replace("inbox_capacity=1024", "inbox_capacity=100");
        assert_eq!(Settings::parse(small.as_bytes()).expect("complete").mailbox_entries, 64);
        assert_eq!(settings.frame_time, Duration::from_secs(10));
        assert_eq!(settings.watchdog, None);
        assert_eq!(settings.retention, RetentionLimits::default());
        for (from, to, retention) in [
            (
                "retention_period_ms=60000",
                "retention_period_ms=0",
                RetentionLimits { period: None, ..RetentionLimits::default() },
            ),
            (
                "consumer_hold=86400000",
                "consumer_hold=all",
                RetentionLimits { hold: OffsetHold::Always, ..RetentionLimits::default() },
            ),
            (
                "consumer_hold=86400000",
                "consumer_hold=none",
                RetentionLimits { hold: OffsetHold::Never, ..RetentionLimits::default() },
            ),
        ] {
            let settings = Settings::parse(GOOD.replace(from, to).as_bytes()).expect(to);
            assert_eq!(settings.retention, retention, "{to}");
        }
    }

    #[test]
    fn every_line_is_needed() {
        for line in GOOD.lines() {
            let rest: Vec<&str> = GOOD.lines().filter(|other| *other != line).collect();
            assert!(
                matches!(Settings::parse(rest.join("\n").as_bytes()), Err(SettingsError::Missing(_))),
                "without {line}"
            );
        }
    }

    #[test]
    fn bad_values_and_strange_keys_are_named() {
        for (from, to) in [
            ("backend=auto", "backend=kqueue"),
            ("shard_cpus=0,-", "shard_cpus="),
            ("frame_bytes_max=67108864", "frame_bytes_max=255"),
            ("logins_max=256", "logins_max=0"),
            ("send_timeout_ms=30000", "send_timeout_ms=0"),
            ("direct_io=true", "direct_io=yes"),
            ("journal_files_max=8", "journal_files_max=4"),
            ("consumer_offsets_max=4096", "consumer_offsets_max=0"),
            ("unflushed_bytes_max=67108864", "unflushed_bytes_max=0"),
            ("poll_cache_bytes_max=0", "poll_cache_bytes_max=-1"),
            ("poll_reads_bytes_max=8", "poll_reads_bytes_max=0"),
            ("replies_bytes_max=16", "replies_bytes_max=0"),
            ("connections_bytes_max=4", "connections_bytes_max="),
            ("spares_bytes_max=2", "spares_bytes_max=some"),
            ("poll_reply_bytes_max=67108864", "poll_reply_bytes_max=all"),
            ("retention_period_ms=60000", "retention_period_ms=often"),
            ("consumer_hold=86400000", "consumer_hold=some"),
            ("tcp_address=127.0.0.1:0", "tcp_address=somewhere"),
        ] {
            let text = GOOD.replace(from, to);
            assert!(matches!(Settings::parse(text.as_bytes()), Err(SettingsError::Value { .. })), "{to}");
        }
        let text = format!("{GOOD}\nwhat=this");
        assert_eq!(Settings::parse(text.as_bytes()), Err(SettingsError::Unknown("what".into())));
        assert_eq!(Settings::parse(b"\xff"), Err(SettingsError::Layout));
    }

    #[test]
    fn as_many_shards_as_have_numbers() {
        let cpus = |count: usize| {
            GOOD.replace("shard_cpus=0,-", &format!("shard_cpus={}", vec!["-"; count].join(",")))
        };
        assert!(Settings::parse(cpus(SHARDS_MAX).as_bytes()).is_ok());
        assert!(Settings::parse(cpus(SHARDS_MAX + 1).as_bytes()).is_err());
    }
}
