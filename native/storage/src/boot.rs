//! What a start may do and a shard's turn may not: wait for the disk. And why a start gives up.

use std::path::{Path, PathBuf};

use ng_io::{
    Buffer, Driver, DriverLimits, Environment, FileOptions, Handle, Instant, IoError, Operation, Outcome,
    Token, Wait,
};
use thiserror::Error;

use crate::accepted_loss::NamedLoss;
use crate::held_file::open_when_free;
use crate::home::{Home, ShardHome};
use crate::journal::shell::{StartFault, file_name};
use crate::journal::strays::StrayFile;
use crate::journal::{JournalFault, Refused};
use crate::refusal::{Reason, Refusal};
use crate::store::plan::{Plan, PlanFault, Step};
use crate::store::shell::PlanShell;
use crate::superblock::{Elected, FILE_BYTES, JOURNAL_FILES_MAX, Superblock};
use crate::superblock_writer::{SuperblockFault, SuperblockStep, SuperblockWriter};

/// What work that needs its own driver asks of it.
pub(crate) const DRIVER: DriverLimits = DriverLimits { operations_max: 32, handles_max: 256 };

/// The same for work that has every file of a journal open.
pub(crate) const READER: DriverLimits =
    DriverLimits { operations_max: 64, handles_max: JOURNAL_FILES_MAX as usize + 64 };

/// Why a data directory is not opened. Nothing was lost by not opening it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BootError {
    /// The file system failed.
    #[error("{0}")]
    Io(#[from] PlanFault),
    /// A file is not what its place calls for.
    #[error("{}: {refusal}{}", path.display(), remedy_of(*refusal))]
    Refused {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        refusal: Refusal,
    },
    /// A file that another one names is not there.
    #[error("{} is missing, and {named_by} names it. {RESTORE_BOTH}", path.display())]
    Missing {
        /// Which file.
        path: PathBuf,
        /// What names it: an older copy of that may name a file that was deleted since.
        named_by: String,
    },
    /// A file belongs elsewhere.
    #[error("{} belongs to another {what} than {}. {RESTORE_BOTH}", path.display(), beside.display())]
    Foreign {
        /// Which file.
        path: PathBuf,
        /// Another what.
        what: &'static str,
        /// The file that says so. Either of the two may be the wrong one.
        beside: PathBuf,
    },
    /// There are shards, or groups, and nothing says which of them count.
    #[error("{} is missing beside {}. Restore it, or move the whole directory away to begin anew",
        layout.display(), beside.display())]
    NoLayout {
        /// Where LAYOUT must be.
        layout: PathBuf,
        /// What is there.
        beside: PathBuf,
    },
    /// There is a layout already.
    #[error("{} is there already: this directory is in use", .0.display())]
    Founded(PathBuf),
    /// The configuration differs from what the directory was founded with.
    #[error(
        "{}: {field} is {recorded}, the configuration says {configured}. Set it back to {recorded}, or copy the data \
         to a server that was founded with the new value", path.display()
    )]
    Genesis {
        /// The superblock.
        path: PathBuf,
        /// Which constant.
        field: &'static str,
        /// Its value in the superblock.
        recorded: u64,
        /// Its value in the configuration.
        configured: u64,
    },
    /// The loss that was accepted is not the one there is.
    #[error(
        "{}: the accepted losses do not match the actual ones ({}). Run `server-ng recover {}` to list those, and accept \
         exactly them", path.display(), name_losses(losses), data.display()
    )]
    OtherLoss {
        /// The file of accepted losses, or the data directory.
        path: PathBuf,
        /// The data directory.
        data: PathBuf,
        /// What is lost.
        losses: Vec<NamedLoss>,
    },
    /// So much of a journal is lost, and in so many places, that it cannot be listed. What is whole between them may not be
    /// dropped with it.
    #[error("{}: more ranges of blocks are lost than a journal lists. Restore the directory from a copy, or move it away and \
        let the node begin anew", path.display())]
    Shattered {
        /// The journal's directory.
        path: PathBuf,
    },
    /// The shard count cannot change. It stays as it was.
    #[error(
        "{}: {reason}. The data directory keeps its {shards} shards: start it once with \
         system.sharding.cpu_allocation={shards} (and system.sharding.pin_cores=false on a smaller machine), which deals with \
         that, stop it in order, and change the number then", path.display()
    )]
    NotMoved {
        /// The journal's directory.
        path: PathBuf,
        /// How many shards there are.
        shards: u32,
        /// Why.
        reason: String,
    },
    /// A record does not fit a new journal.
    #[error("a new journal does not take what counts: {refused}")]
    DoesNotFit {
        /// Why.
        refused: Refused,
    },
    /// Files of a journal are not those that this life of the node left there.
    #[error(
        "The journal in {} cannot be read: {}. Give each file of it its own name and content back; without a copy of one, move \
         the wrong file away and see with `server-ng recover {}` what going on without it means",
        path.display(), list(strays), data.display()
    )]
    Strays {
        /// The journal's directory.
        path: PathBuf,
        /// The data directory.
        data: PathBuf,
        /// The files.
        strays: Vec<StrayFile>,
    },
    /// The superblock was replaced by one that was there before.
    #[error(
        "{} is older than the journal beside it: journal-{file:08} has blocks that it does not know of. Put the newest \
         superblock back, or restore the whole data directory from a copy that was made while the server was stopped",
        path.display()
    )]
    OlderSuperblock {
        /// The superblock.
        path: PathBuf,
        /// The number of a file that says so.
        file: u32,
    },
    /// A standalone node has lost what was acknowledged, and nobody has accepted that.
    #[error(
        "The journal in {} has lost acknowledged data: {}. Restore the data directory from a copy that was made while the \
         server was stopped, or see with `server-ng recover {}` what going on without it means",
        path.display(), name_losses(losses), data.display()
    )]
    Lost {
        /// The journal's directory.
        path: PathBuf,
        /// The data directory.
        data: PathBuf,
        /// What is lost.
        losses: Vec<NamedLoss>,
    },
    /// An operator has accepted a loss for a node that is not alone.
    #[error(
        "{} is for a standalone node, and this one has others, which still have what is lost. Remove the file", .0.display()
    )]
    NotAlone(PathBuf),
}

const RESTORE_BOTH: &str = "Restore both from one copy that was made while the server was stopped";

const fn remedy_of(refusal: Refusal) -> &'static str {
    match refusal.reason {
        Reason::Newer(_) => ". Start the server that wrote it, or a newer one",
        Reason::Older { .. } => {
            ": start the build that wrote it, or move the data directory away to begin with an empty one"
        }
        _ => ". Restore it from a copy, or let the node begin anew",
    }
}

fn list(strays: &[StrayFile]) -> String {
    let all: Vec<String> = strays.iter().map(ToString::to_string).collect();
    all.join(", ")
}

fn name_losses(losses: &[NamedLoss]) -> String {
    let place = |loss: &NamedLoss| match &loss.file {
        Some(file) => format!("{} (in {})", loss.name, file.display()),
        None => loss.name.clone(),
    };
    let all: Vec<String> = losses.iter().map(place).collect();
    if all.is_empty() { "none".to_owned() } else { all.join(", ") }
}

impl BootError {
    /// The status that the process exits with: 65 data, 74 input and output, 78 configuration.
    #[must_use]
    pub const fn status(&self) -> u8 {
        match self {
            Self::Io(_) => 74,
            Self::Genesis { .. } | Self::Founded(_) => 78,
            Self::Refused { refusal, .. } if refusal.is_newer() || refusal.is_older() => 78,
            Self::NotMoved { .. } => 78,
            _ => 65,
        }
    }

    /// The journal of a shard of the data directory at `home` was not opened.
    pub(crate) fn start(home: &Home, shard: &ShardHome, fault: StartFault) -> Self {
        let path = shard.directory().to_owned();
        match fault {
            StartFault::Io(fault) => Self::journal(&path, fault),
            StartFault::Strays(strays) => Self::Strays { path, data: home.root().to_owned(), strays },
            StartFault::OlderSuperblock(file) => Self::OlderSuperblock { path: shard.superblock(), file },
        }
    }

    pub(crate) fn journal(directory: &Path, fault: JournalFault) -> Self {
        let JournalFault { file, error } = fault;
        Self::Io(PlanFault { path: directory.join(file_name(file)), error, reading: false, removing: false })
    }

    pub(crate) fn io(path: &Path) -> impl FnOnce(IoError) -> Self {
        move |error| Self::Io(PlanFault { path: path.to_owned(), error, reading: false, removing: false })
    }

    pub(crate) fn refused(path: &Path) -> impl FnOnce(Refusal) -> Self {
        move |refusal| Self::Refused { path: path.to_owned(), refusal }
    }
}

/// Plans, one at a time, each waited for.
pub(crate) struct Hands<'a, E: Environment> {
    pub(crate) environment: &'a E,
    pub(crate) driver: &'a mut E::Driver,
    shell: PlanShell,
    token: u64,
}

impl<'a, E: Environment> Hands<'a, E> {
    /// Hands that use one token, with a driver on which nothing else is under way.
    pub(crate) fn new(environment: &'a E, driver: &'a mut E::Driver, token: u64) -> Self {
        Self { environment, driver, shell: PlanShell::new(token, 1, 4, false), token }
    }

    /// Carries out a plan, which is not empty; returns what its reading steps read.
    pub(crate) fn run(&mut self, plan: Plan) -> Result<Vec<Option<Buffer>>, BootError> {
        let path = plan.first().map(|step| step.path().clone()).unwrap_or_default();
        self.shell.start(self.driver, 0, plan);
        let mut completions = Vec::new();
        loop {
            let waited = self.driver.complete(Wait::Until(Instant::FAR_FUTURE), &mut completions);
            waited.map_err(BootError::io(&path))?;
            for completion in completions.drain(..) {
                if let Some((_, result)) = self.shell.completed(self.driver, completion) {
                    return Ok(result?);
                }
            }
        }
    }

    /// A whole file, if it is there.
    pub(crate) fn read(&mut self, path: PathBuf) -> Result<Option<Vec<u8>>, BootError> {
        let read = self.run(vec![Step::ReadAll(path)])?;
        Ok(read.into_iter().next().flatten().map(|buffer| buffer.to_vec()))
    }

    /// The names in a directory; none if it is not there.
    pub(crate) fn names(&self, path: &Path) -> Result<Vec<String>, BootError> {
        match self.environment.list_directory(path) {
            Err(error) if error.is_absent() => Ok(Vec::new()),
            listed => listed.map_err(BootError::io(path)),
        }
    }

    /// Removes a directory and all that is in it.
    pub(crate) fn discard(&mut self, path: &Path) -> Result<(), BootError> {
        for name in self.environment.list_directory(path).unwrap_or_default() {
            self.discard(&path.join(name))?;
        }
        self.run(vec![Step::Remove(path.to_owned())]).map(|_| ())
    }

    /// Opens a superblock that a process which has just been killed may still hold, and reads what is in force.
    pub(crate) fn open_superblock(
        &mut self,
        path: &Path,
        layout: &Path,
        direct: bool,
    ) -> Result<(Handle, Elected), BootError> {
        let options = FileOptions { create: false, direct, lock: true, ..FileOptions::WRITE };
        let opened = open_when_free(self.environment, self.driver, path, options);
        let handle = opened.map_err(|error| {
            if error.is_absent() {
                return BootError::Missing { path: path.to_owned(), named_by: layout.display().to_string() };
            }
            BootError::io(path)(error)
        })?;
        let (bytes, unread) = self.read_pages(path, handle)?;
        self.shell.keep(path.to_owned(), handle);
        let elected = Superblock::elect(&bytes).map_err(|refusal| match unread {
            // What could not be read may be as it should: nobody is told to begin anew because of that.
            Some(error) if refusal.reason == Reason::NoQuorum => BootError::io(path)(error),
            _ => BootError::refused(path)(refusal),
        })?;
        Ok((handle, elected))
    }

    /// What can be read of a superblock's pages: one that cannot counts as zero, for there are four. And why one cannot.
    fn read_pages(&mut self, path: &Path, file: Handle) -> Result<(Vec<u8>, Option<IoError>), BootError> {
        let mut bytes = Vec::with_capacity(FILE_BYTES);
        let mut unread = None;
        for offset in (0..FILE_BYTES).step_by(crate::PAGE) {
            let read =
                Operation::ReadAt { file, buffer: Buffer::aligned(crate::PAGE), offset: offset as u64 };
            self.driver.submit(Token(self.token), read);
            let mut completions = Vec::new();
            while completions.is_empty() {
                let waited = self.driver.complete(Wait::Until(Instant::FAR_FUTURE), &mut completions);
                waited.map_err(BootError::io(path))?;
            }
            match completions.remove(0).outcome {
                Outcome::Read { buffer, result: Ok(_) } => bytes.extend_from_slice(&buffer),
                Outcome::Read { result: Err(error), .. } => unread = Some(error),
                _ => {}
            }
            bytes.resize(offset + crate::PAGE, 0);
        }
        Ok((bytes, unread))
    }

    /// Writes what `writer` has begun with `step`, until it is in force.
    pub(crate) fn write_superblock(
        &mut self,
        path: &Path,
        writer: &mut SuperblockWriter,
        begun: Result<SuperblockStep, SuperblockFault>,
    ) -> Result<(), BootError> {
        let unexpected = |fault| match fault {
            SuperblockFault::Io(error) => BootError::io(path)(error),
            SuperblockFault::Busy | SuperblockFault::Failed => {
                BootError::Foreign { path: path.to_owned(), what: "start", beside: path.to_owned() }
            }
        };
        let mut step = begun.map_err(unexpected)?;
        while let Some(plan) = superblock_plan(path, step) {
            self.run(plan)?;
            step = writer.completed(Ok(())).map_err(unexpected)?;
        }
        Ok(())
    }
}

/// A step of a superblock as a plan, if there is one left.
pub(crate) fn superblock_plan(path: &Path, step: SuperblockStep) -> Option<Plan> {
    let path = path.to_owned();
    match step {
        SuperblockStep::Write { offset, buffer } => {
            Some(vec![Step::Write { path, offset, buffer, batches: false }])
        }
        SuperblockStep::Sync => Some(vec![Step::Sync { path, batches: false }]),
        SuperblockStep::Done => None,
    }
}
