//! What the process was asked for.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;

use ng_io::{DriverLimits, PosixEnvironment, UringEnvironment};
use ng_storage::journal::Limits;
use ng_storage::journal::shell::JournalHome;

use crate::judge::Said;
use crate::{reader, writer};

/// The journal's mark.
pub(crate) const JOURNAL: u128 = 77;

/// Groups that are written.
pub(crate) const GROUPS: [u64; 5] = [1, 2, 3, 258, 1 << 63];

pub(crate) const LIMITS: Limits = Limits {
    file_bytes: 1 << 20,
    files_max: 8,
    block_bytes_target: 64 * 1024,
    queued_bytes_max: 768 * 1024,
    window_max: 1024,
    slots_max: 4096,
};

pub(crate) const DRIVER: DriverLimits = DriverLimits { operations_max: 32, handles_max: 32 };

/// What is to be done, and where.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    /// Where the journal is; the directory is there.
    pub(crate) directory: PathBuf,
    /// Whether the page cache is bypassed.
    pub(crate) direct: bool,
    /// How many ops to write; for ever without it.
    pub(crate) ops: Option<u64>,
    /// What the order of the records is drawn from.
    pub(crate) seed: u64,
    /// Higher than that of any writer before.
    pub(crate) incarnation: u64,
    /// What the writers of this journal have said.
    said: Option<PathBuf>,
}

/// Why the process ends before it was done.
#[derive(Debug)]
pub(crate) enum Obstacle {
    Order(String),
    Damage(String),
    Disk(String),
}

/// Does what the words of a command line say.
pub(crate) fn obey(words: impl Iterator<Item = String>) -> ExitCode {
    let words: Vec<String> = words.collect();
    match perform(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(obstacle) => {
            let (status, reason) = match obstacle {
                Obstacle::Order(reason) => (64, reason),
                Obstacle::Damage(reason) => (65, reason),
                Obstacle::Disk(reason) => (74, reason),
            };
            // Nobody may be left to tell.
            let _ = writeln!(std::io::stderr(), "{reason}");
            ExitCode::from(status)
        }
    }
}

fn perform(words: &[String]) -> Result<(), Obstacle> {
    let (verb, rest) = words.split_first().ok_or_else(|| Obstacle::Order("write or judge".to_owned()))?;
    let pairs: BTreeMap<&str, &str> = rest.iter().filter_map(|word| word.split_once('=')).collect();
    let order = Order::of(&pairs)?;
    match (verb.as_str(), pairs.get("backend").copied()) {
        ("write", Some("posix")) => writer::write(&PosixEnvironment, &order),
        ("write", Some("uring")) => writer::write(&UringEnvironment, &order),
        ("judge", Some("posix")) => reader::judge(&PosixEnvironment, &order),
        ("judge", Some("uring")) => reader::judge(&UringEnvironment, &order),
        unknown => Err(Obstacle::Order(format!("{unknown:?} is no order"))),
    }
}

impl Order {
    fn of(pairs: &BTreeMap<&str, &str>) -> Result<Self, Obstacle> {
        let directory = pairs.get("directory").ok_or_else(|| Obstacle::Order("a directory".to_owned()))?;
        Ok(Self {
            directory: PathBuf::from(directory),
            direct: value(pairs, "direct")?.unwrap_or(false),
            ops: value(pairs, "ops")?,
            seed: value(pairs, "seed")?.unwrap_or(1),
            incarnation: value(pairs, "incarnation")?.unwrap_or(1),
            said: value(pairs, "said")?,
        })
    }

    pub(crate) fn home(&self) -> JournalHome {
        JournalHome {
            directory: self.directory.clone(),
            direct: self.direct,
            journal: JOURNAL,
            first_token: 0,
        }
    }

    /// Everything that was said before this process.
    pub(crate) fn said(&self) -> Result<Said, Obstacle> {
        let text = self.said.as_ref().map(fs::read_to_string).transpose().map_err(|error| disk(&error))?;
        Ok(Said::of(&text.unwrap_or_default()))
    }

    /// Exists once the journal does, as a superblock would.
    pub(crate) fn founded(&self) -> PathBuf {
        self.directory.join("founded")
    }
}

fn value<T: FromStr>(pairs: &BTreeMap<&str, &str>, key: &str) -> Result<Option<T>, Obstacle> {
    let parse = |word: &&str| word.parse().map_err(|_| Obstacle::Order(format!("{key}={word}")));
    pairs.get(key).map(parse).transpose()
}

/// Says a line to whoever listens.
pub(crate) fn say(line: &str) -> Result<(), Obstacle> {
    // One call of the kernel for each line: what it has taken survives the process.
    std::io::stdout().lock().write_all(format!("{line}\n").as_bytes()).map_err(|error| disk(&error))
}

pub(crate) fn disk(error: &impl ToString) -> Obstacle {
    Obstacle::Disk(error.to_string())
}
