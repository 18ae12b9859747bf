//! Reasons for which a node does not start or cannot continue: a sentence for the operator and an exit
//! status.

use std::path::Path;

use ng_io::IoError;
use ng_replication::{Fatal, LogRefusal};
use ng_storage::boot::BootError;
use ng_wire::table::exit_status::ExitStatus;
use thiserror::Error;

/// The unplanned end of a process.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{reason}")]
pub struct Ending {
    /// Exit status of the process.
    pub status: ExitStatus,
    /// Cause, file and remedy.
    pub reason: String,
}

impl Ending {
    /// An end with this status and reason.
    pub fn new(status: ExitStatus, reason: impl Into<String>) -> Self {
        Self { status, reason: reason.into() }
    }
}

impl From<IoError> for Ending {
    fn from(error: IoError) -> Self {
        let limited = error.is_out_of_descriptors();
        let status = if limited { ExitStatus::Configuration } else { ExitStatus::InternalFault };
        Self::new(status, error.to_string())
    }
}

impl From<BootError> for Ending {
    fn from(error: BootError) -> Self {
        let status = ExitStatus::from_code(error.status()).unwrap_or(ExitStatus::InternalFault);
        Self::new(status, genesis_sentence(&error).unwrap_or_else(|| error.to_string()))
    }
}

/// Names of constants in the superblock, with the settings keys that operators know.
const GENESIS_KEYS: [(&str, &str); 3] = [
    ("frame bytes max", "message_bus.max_message_size"),
    ("client table slots", "metadata.clients_table_max"),
    ("consumer offsets max", "partition.consumer_offsets_max"),
];

/// The remedy for a constant that an operator can set.
fn genesis_sentence(error: &BootError) -> Option<String> {
    let BootError::Genesis { path, field, recorded, configured } = error else { return None };
    let (_, key) = GENESIS_KEYS.iter().find(|(name, _)| name == field)?;
    Some(format!(
        "{key} is {configured} now, and this data directory was founded with {recorded} ({}). Set it back to {recorded}, \
         or found another directory with system.path and copy the data there through clients",
        path.display()
    ))
}

impl Ending {
    /// The end for a log that did not start; `state` is the file of its metadata.
    pub fn of_log(refusal: &LogRefusal, state: &Path) -> Self {
        match refusal {
            LogRefusal::State(group) => {
                let reason = format!(
                    "{}: not the state of group {group:016x} in the manifest. Restore the data directory from a copy \
                     of a stopped server",
                    state.display()
                );
                Self::new(ExitStatus::DamagedData, reason)
            }
            LogRefusal::Limits => Self::new(ExitStatus::InternalFault, refusal.to_string()),
        }
    }
}

impl From<Fatal> for Ending {
    fn from(fatal: Fatal) -> Self {
        match fatal {
            Fatal::Write { file, error } => {
                let reason = format!(
                    "{file}: {error}. Its contents are undefined until recovery. Fix the disk, then restart"
                );
                Self::new(ExitStatus::JournalIo, reason)
            }
            Fatal::Lost { group, op } => {
                let reason = format!(
                    "the journal cannot read op {} of group {group:016x}, which was acknowledged. Check the disk, then run \
                     `server-ng recover` with the data directory to list what is lost",
                    op.0
                );
                Self::new(ExitStatus::DamagedData, reason)
            }
            Fatal::Segments(damage) if damage.is_newer() => Self::new(
                ExitStatus::Configuration,
                format!("{damage}. Start the server that wrote it, or a newer one"),
            ),
            Fatal::Segments(damage) => Self::new(
                ExitStatus::DamagedData,
                format!(
                    "{damage}. Give this node an empty data directory: the other nodes have the messages"
                ),
            ),
            Fatal::Diverged { group, op } => {
                let reason = format!(
                    "op {} of group {group:016x} as executed here differs from the committed one",
                    op.0
                );
                Self::new(ExitStatus::InternalFault, reason)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn a_constant_of_the_directory_is_named_by_its_key() {
        let error = BootError::Genesis {
            path: PathBuf::from("data/superblock"),
            field: "frame bytes max",
            recorded: 1 << 20,
            configured: 1 << 21,
        };
        let ending = Ending::from(error);
        assert_eq!(ending.status, ExitStatus::Configuration);
        for part in ["message_bus.max_message_size", "1048576", "2097152", "data/superblock"] {
            assert!(ending.reason.contains(part), "{}", ending.reason);
        }
    }

    #[test]
    fn a_failed_write_is_the_journals_status() {
        let error = IoError::new("write", 5);
        let ending = Ending::from(Fatal::Write { file: "journal-00000001".into(), error });
        assert_eq!(ending.status, ExitStatus::JournalIo);
        assert!(ending.reason.starts_with("journal-00000001: write: "), "{}", ending.reason);
    }
}
