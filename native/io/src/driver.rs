//! The contract between a shard and its I/O: operations in, completions out, one blocking call.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

use crate::buffer::Buffer;
use crate::clock::{Instant, WallMicros};
use crate::error::IoError;
use crate::file::FileOptions;
use crate::output::Output;
use crate::socket::{Listener, Socket};
use crate::waker::Waker;

/// Performs the I/O of one thread.
///
/// A driver is made on the thread that uses it ([`crate::Environment::driver`]) and stays there. It owns
/// every descriptor it adopted and every buffer of an operation until that operation's completion.
///
/// At most one `Receive` and one `Send` per socket, and one `Accept` per listener, may be outstanding;
/// another of the same kind completes with "busy". Operations on files and names have no such limit, and no order
/// among each other: what must come after a write is submitted after its completion.
pub trait Driver {
    /// An open file, as the environment of this driver opens it.
    type File: Send + fmt::Debug;

    /// Monotonic time.
    fn now(&self) -> Instant;

    /// Wall time.
    fn wall(&self) -> WallMicros;

    /// Something any thread can use to end a sleeping [`Driver::complete`], or the next one.
    fn waker(&self) -> Waker;

    /// Takes a connected stream socket, turns off Nagle's delay on TCP, and gives it a handle.
    fn adopt_socket(&mut self, socket: Socket) -> Result<Handle, IoError>;

    /// Takes a listening socket and gives it a handle.
    fn adopt_listener(&mut self, listener: Listener) -> Result<Handle, IoError>;

    /// Takes an open file and gives it a handle.
    fn adopt_file(&mut self, file: Self::File) -> Result<Handle, IoError>;

    /// The address a socket or listener is bound to.
    fn local_address(&self, handle: Handle) -> Result<SocketAddr, IoError>;

    /// Bytes that the peer of a socket has acknowledged since it connected, to tell a slow reader from one that does not
    /// read. `None` for a stale handle, or where the protocol does not count them.
    fn acknowledged(&self, socket: Handle) -> Option<u64>;

    /// Starts an operation and returns at once; its completion, success or not, comes out of
    /// [`Driver::complete`].
    ///
    /// # Panics If `operations_max` operations are outstanding already: the caller sizes its tables so that
    /// this cannot be.
    fn submit(&mut self, token: Token, operation: Operation);

    /// Ends the sending half of a socket: the peer reads what was sent before, then end of stream, while
    /// receiving goes on. To be called after the completion of the last `Send`. A stale handle is ignored.
    fn finish_sending(&mut self, socket: Handle);

    /// Makes the kernel acknowledge now, and not up to 40 ms later, the bytes a socket has received so far. A stale handle
    /// and a protocol without acknowledgements are ignored.
    fn acknowledge_now(&mut self, socket: Handle);

    /// Closes a handle. Its outstanding operations complete as cancelled with their buffers; a socket is shut
    /// down in both directions; the descriptor goes after the last operation. A stale handle is ignored.
    fn close(&mut self, handle: Handle);

    /// Appends completions to `into`. The only call that may block: it returns with at least one completion,
    /// or after a wake, or once the deadline has passed. It may also return early with nothing.
    fn complete(&mut self, wait: Wait, into: &mut Vec<Completion>) -> Result<(), IoError>;

    /// What this driver has done since it was made.
    fn counters(&self) -> DriverCounters;
}

/// What the submitter knows an operation by; the driver carries it and never looks inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub u64);

/// Names one adopted descriptor of one driver. Handles are never reused: the generation in the upper half
/// tells a stale one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Handle(pub(crate) u64);

/// One thing to do. Buffers belong to the driver until the completion brings them back.
#[derive(Debug)]
pub enum Operation {
    /// Takes the next connection.
    Accept {
        /// Where from.
        listener: Handle,
    },
    /// Receives into the spare capacity, which must not be empty. Zero bytes mean end of stream.
    Receive {
        /// Where from.
        socket: Handle,
        /// Where to; its present content is kept.
        buffer: Buffer,
        /// How many bytes to wait for, and to take at most; fewer mean that the stream ended or broke behind them.
        /// Zero takes what is there first.
        wanted: usize,
    },
    /// Sends the whole buffer.
    Send {
        /// Where to.
        socket: Handle,
        /// What.
        buffer: Buffer,
    },
    /// Fills the spare capacity from `offset`; fewer bytes mean the end of the file.
    ReadAt {
        /// Where from.
        file: Handle,
        /// Where to; its present content is kept.
        buffer: Buffer,
        /// Position in the file.
        offset: u64,
    },
    /// Writes the whole buffer at `offset`.
    WriteAt {
        /// Where to.
        file: Handle,
        /// What.
        buffer: Output,
        /// Position in the file.
        offset: u64,
        /// Whether the data must be on stable storage before the completion.
        sync: bool,
    },
    /// Brings every write completed before to stable storage; of a directory, every change of its names.
    Sync {
        /// Which file, or directory.
        file: Handle,
    },
    /// Opens a file or a directory, takes its lock if asked, and gives it a handle of this driver.
    Open {
        /// Which.
        path: PathBuf,
        /// How.
        options: FileOptions,
    },
    /// Makes a directory whose parent exists; one that is there already is as good.
    MakeDirectory {
        /// Which.
        path: PathBuf,
    },
    /// Gives a file or directory another name, at once; a file that had the name is gone.
    Rename {
        /// The name it has.
        from: PathBuf,
        /// The name it gets.
        to: PathBuf,
    },
    /// Gives a file a second name, at once, below a directory of the same file system. The name must be free.
    Link {
        /// A name it has.
        from: PathBuf,
        /// The name it gets besides.
        to: PathBuf,
    },
    /// Removes a file or an empty directory; one that is absent already is as good.
    Remove {
        /// Which.
        path: PathBuf,
    },
}

/// The end of one operation.
#[derive(Debug)]
pub struct Completion {
    /// The token it was submitted with.
    pub token: Token,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of an operation, one variant per kind of operation.
#[derive(Debug)]
pub enum Outcome {
    /// Of `Accept`: the connection and its peer.
    Accepted(Result<(Socket, SocketAddr), IoError>),
    /// Of `Receive`.
    Received {
        /// The buffer, longer by the bytes received.
        buffer: Buffer,
        /// How many bytes were appended.
        result: Result<usize, IoError>,
    },
    /// Of `Send`.
    Sent {
        /// The buffer, as it was submitted.
        buffer: Buffer,
        /// Whether all of it was taken by the kernel.
        result: Result<(), IoError>,
    },
    /// Of `ReadAt`.
    Read {
        /// The buffer, longer by the bytes read.
        buffer: Buffer,
        /// How many bytes were appended.
        result: Result<usize, IoError>,
    },
    /// Of `WriteAt`.
    Written {
        /// The bytes, as they were submitted.
        buffer: Output,
        /// Whether all of it was written, and synced if asked.
        result: Result<(), IoError>,
    },
    /// Of `Sync`.
    Synced(Result<(), IoError>),
    /// Of `Open`.
    Opened(Result<Handle, IoError>),
    /// Of `MakeDirectory`, `Rename`, `Link` and `Remove`. Only a `Sync` of the directory makes it last.
    Named(Result<(), IoError>),
}

/// How long [`Driver::complete`] may sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Not at all.
    Now,
    /// Until this instant.
    Until(Instant),
}

/// Upper bounds of a driver's tables, which grow lazily up to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DriverLimits {
    /// Operations submitted and not yet handed back.
    pub operations_max: usize,
    /// Descriptors adopted and not yet closed.
    pub handles_max: usize,
}

/// Plain counts of one driver, read by the thread that owns it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DriverCounters {
    /// Times the kernel was entered for the driver's work, disk threads included; doorbells rung by other
    /// threads, waiting disk threads and [`Driver::local_address`] are not counted.
    pub syscalls: u64,
    /// Operations submitted.
    pub operations: u64,
    /// Completions handed out.
    pub completions: u64,
    /// Calls of `complete` that were allowed to block in the kernel.
    pub sleeps: u64,
    /// Times `complete` noticed a wake.
    pub wakes: u64,
    /// Times the kernel had more completions than its ring holds (`uring` only).
    pub overflows: u64,
}

impl Operation {
    /// What it works on; operations on names work on nothing that is open.
    pub(crate) fn handle(&self) -> Option<Handle> {
        match self {
            Self::Accept { listener } => Some(*listener),
            Self::Receive { socket, .. } | Self::Send { socket, .. } => Some(*socket),
            Self::ReadAt { file, .. } | Self::WriteAt { file, .. } | Self::Sync { file } => Some(*file),
            Self::Open { .. }
            | Self::MakeDirectory { .. }
            | Self::Rename { .. }
            | Self::Link { .. }
            | Self::Remove { .. } => None,
        }
    }
}

impl Outcome {
    /// The outcome of an operation that never ran, or was given up, with its buffer.
    pub(crate) fn failed(operation: Operation, error: IoError) -> Self {
        match operation {
            Operation::Accept { .. } => Self::Accepted(Err(error)),
            Operation::Receive { buffer, .. } => Self::Received { buffer, result: Err(error) },
            Operation::Send { buffer, .. } => Self::Sent { buffer, result: Err(error) },
            Operation::ReadAt { buffer, .. } => Self::Read { buffer, result: Err(error) },
            Operation::WriteAt { buffer, .. } => Self::Written { buffer, result: Err(error) },
            Operation::Sync { .. } => Self::Synced(Err(error)),
            Operation::Open { .. } => Self::Opened(Err(error)),
            Operation::MakeDirectory { .. }
            | Operation::Rename { .. }
            | Operation::Link { .. }
            | Operation::Remove { .. } => Self::Named(Err(error)),
        }
    }

    /// Whatever came of it, its handle was closed in the meantime: the result is "cancelled", the buffer
    /// stays.
    pub(crate) fn cancelled(self) -> Self {
        match self {
            Self::Accepted(_) => Self::Accepted(Err(IoError::cancelled("accept"))),
            Self::Received { buffer, .. } => {
                Self::Received { buffer, result: Err(IoError::cancelled("receive")) }
            }
            Self::Sent { buffer, .. } => Self::Sent { buffer, result: Err(IoError::cancelled("send")) },
            Self::Read { buffer, .. } => Self::Read { buffer, result: Err(IoError::cancelled("read")) },
            Self::Written { buffer, .. } => {
                Self::Written { buffer, result: Err(IoError::cancelled("write")) }
            }
            Self::Synced(_) => Self::Synced(Err(IoError::cancelled("sync"))),
            // These have no handle that could have been closed.
            Self::Opened(_) | Self::Named(_) => self,
        }
    }
}

/// Whether a disk operation's position is one a file can have. The ring reads -1 as "where the file stands",
/// so what does not fit a signed offset must not reach it.
pub(crate) fn offset_is_valid(operation: &Operation) -> bool {
    match operation {
        Operation::ReadAt { buffer, offset, .. } => end_is_valid(*offset, buffer.spare()),
        Operation::WriteAt { buffer, offset, .. } => end_is_valid(*offset, buffer.len()),
        _ => true,
    }
}

fn end_is_valid(offset: u64, count: usize) -> bool {
    offset.checked_add(count as u64).is_some_and(|end| i64::try_from(end).is_ok())
}
