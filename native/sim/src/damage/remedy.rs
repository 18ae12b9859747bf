//! A refused start names a damaged file and a remedy; an operator follows it.

use std::path::{Path, PathBuf};

use ng_io::SimulatedEnvironment;
use ng_storage::accepted_loss::{accept, losses};
use ng_storage::boot::BootError;
use ng_storage::journal::shell::file_name;

use super::disk::{Files, put, restore};
use crate::boot::{Refused, home};

/// What an operator did.
#[derive(Debug)]
pub(super) enum Followed {
    /// Losses of these names were accepted.
    Accepted(Vec<String>),
    /// Everything is as it was before the damage.
    Restored,
    /// A wrong file was moved away.
    Moved,
}

/// An operator, with a copy of the files from before the damage or without.
#[derive(Debug)]
pub(super) struct Operator<'a> {
    pub(super) environment: &'a SimulatedEnvironment,
    /// The files before the damage. An operator without a copy uses it where nothing else is offered.
    pub(super) backup: &'a Files,
    pub(super) touched: &'a [PathBuf],
    pub(super) has_copy: bool,
}

impl Operator<'_> {
    /// Does what a refusal says.
    pub(super) fn follow(&self, refused: &Refused) -> Result<Followed, String> {
        let said = refused.to_string();
        let Refused::Directory(error) = refused else {
            return Err(format!("a refusal names no file: {said}"));
        };
        match error {
            BootError::Lost { losses, path, .. } => {
                self.check_named(&said, Some(path))?;
                if self.has_copy || !losses.iter().all(|loss| loss.acceptable) {
                    return Ok(self.restore());
                }
                self.accept(&said)
            }
            BootError::Strays { path, strays, .. } => {
                self.check_named(&said, Some(path))?;
                if self.has_copy {
                    return Ok(self.restore());
                }
                for stray in strays {
                    put(self.environment, &path.join(file_name(stray.number)), None);
                }
                Ok(Followed::Moved)
            }
            BootError::Shattered { path } => {
                self.check_named(&said, Some(path))?;
                Ok(self.restore())
            }
            BootError::OlderSuperblock { .. }
            | BootError::Missing { .. }
            | BootError::Foreign { .. }
            | BootError::Refused { .. }
            | BootError::NoLayout { .. } => {
                self.check_named(&said, None)?;
                for path in self.touched {
                    put(self.environment, path, self.backup.get(path).map(Vec::as_slice));
                }
                Ok(Followed::Restored)
            }
            BootError::Io(_)
            | BootError::Founded(_)
            | BootError::Genesis { .. }
            | BootError::OtherLoss { .. }
            | BootError::NotMoved { .. }
            | BootError::DoesNotFit { .. }
            | BootError::NotAlone(_) => Err(format!("damage is no reason for this: {said}")),
        }
    }

    /// Lists the losses as `recover` does, and accepts them.
    fn accept(&self, said: &str) -> Result<Followed, String> {
        let accepted = self.environment.boot(|| {
            let listed = losses(self.environment, &home())?;
            let names: Vec<String> = listed.losses.into_iter().map(|loss| loss.name).collect();
            accept(self.environment, &home(), &names).map(|()| names)
        });
        self.environment.kill();
        match accepted {
            Ok(names) => Ok(Followed::Accepted(names)),
            // `recover` reads all shards, and finds in another one what the start would find next.
            Err(error) if matches!(error, BootError::Strays { .. }) => {
                self.follow(&Refused::Directory(error))
            }
            Err(error) => Err(format!("{said}; the remedy does not work: {error}")),
        }
    }

    fn restore(&self) -> Followed {
        restore(self.environment, self.backup);
        Followed::Restored
    }

    /// A damaged file must be named, or the journal whose file it is.
    fn check_named(&self, said: &str, journal: Option<&Path>) -> Result<(), String> {
        let is_named = |path: &PathBuf| {
            said.contains(&path.display().to_string())
                || journal.is_some_and(|journal| path.starts_with(journal))
        };
        if self.touched.iter().any(is_named) {
            return Ok(());
        }
        Err(format!("no damaged file of {:?} is named: {said}", self.touched))
    }
}
