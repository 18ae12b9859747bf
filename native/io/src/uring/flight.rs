//! Operations the kernel is working on. A flight owns what the kernel points at until its last completion
//! came.

use std::os::fd::{FromRawFd, OwnedFd, RawFd};

use io_uring::squeue::{Entry, Flags};
use io_uring::{opcode, types};

use super::name::NameWork;
use super::peer::PeerAddress;
use crate::buffer::{Buffer, PAGE};
use crate::driver::{Handle, Outcome, Token};
use crate::error::IoError;
use crate::file::File;
use crate::file_work::FileWork;
use crate::output::Output;
use crate::socket::Socket;

/// The most the kernel moves in one read or write; longer ones are continued like any short one.
const TRANSFER_MAX: usize = 0x7fff_f000;

/// One operation under way.
#[derive(Debug)]
pub(super) struct Flight {
    pub(super) token: Token,
    /// The resource it works on; the wake-up's own read and work on names have none.
    pub(super) handle: Handle,
    pub(super) work: Work,
}

/// What is being done, with how far it got.
#[derive(Debug)]
pub(super) enum Work {
    Accept { peer: PeerAddress },
    Receive { buffer: Buffer, wanted: usize },
    Send { buffer: Buffer, sent: usize },
    Read { buffer: Buffer, offset: u64, total: usize, direct: bool },
    Write { buffer: Output, offset: u64, written: usize, sync: bool },
    Sync { names: bool },
    Names(NameWork),
    Wake { buffer: Buffer },
}

impl Work {
    pub(super) fn on_file(work: FileWork, file: &File) -> Self {
        match work {
            FileWork::Read { buffer, offset } => {
                Self::Read { buffer, offset, total: 0, direct: file.is_direct() }
            }
            FileWork::Write { buffer, offset, sync } => Self::Write { buffer, offset, written: 0, sync },
            FileWork::Sync => Self::Sync { names: file.is_directory() },
        }
    }
}

/// What the one completion of a flight is of.
///
/// A write with a linked sync is silent when it succeeds, so that nobody is woken between the two: then the sync's
/// completion is the only one. If the write fails, or is cut short, its own is, and that of the sync never comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Main,
    LinkedSync,
}

/// Where an operation stands after the last completion it waited for.
#[derive(Debug)]
pub(super) enum Settled {
    /// Over, with the resource it worked on.
    Finished(Outcome),
    /// Over, with a file that has no handle yet.
    Opened(Result<File, IoError>),
    /// The kernel did a part of it: the rest is to be submitted.
    Again(Flight),
    /// The doorbell rang; the flight is to be submitted again.
    Woken(Flight),
    /// The doorbell is broken.
    Deaf(IoError),
}

/// The submission entries of one flight; the second one is linked to the first.
pub(super) struct Entries {
    pub(super) main: Entry,
    pub(super) sync: Option<Entry>,
}

const _: () =
    assert!(size_of::<Option<Flight>>() <= 160, "ten thousand idle connections have one of these each");

impl Flight {
    pub(super) fn new(token: Token, handle: Handle, work: Work) -> Self {
        Self { token, handle, work }
    }

    /// Describes what is left to do. The pointers stay good as long as the flight exists: they lead to heap
    /// memory it owns, and moving the flight does not move that.
    pub(super) fn entries(&mut self, descriptor: RawFd, index: u32) -> Entries {
        let fd = types::Fd(descriptor);
        let mut sync_entry = None;
        let main = match &mut self.work {
            Work::Accept { peer } => {
                let (length, address) = peer.pointers();
                opcode::Accept::new(fd, address, length).flags(libc::SOCK_CLOEXEC).build()
            }
            Work::Receive { buffer, wanted } => {
                let room = buffer.spare_mut();
                let (most, flags) = match *wanted {
                    0 => (room.len(), 0),
                    wanted => (wanted.min(room.len()), libc::MSG_WAITALL),
                };
                opcode::Recv::new(fd, room.as_mut_ptr().cast(), transfer(most)).flags(flags).build()
            }
            Work::Send { buffer, sent } => {
                let rest = &buffer[*sent..];
                let flags = libc::MSG_NOSIGNAL | libc::MSG_WAITALL;
                opcode::Send::new(fd, rest.as_ptr(), transfer(rest.len())).flags(flags).build()
            }
            Work::Read { buffer, offset, total, .. } => {
                let room = buffer.spare_mut();
                let position = *offset + *total as u64;
                opcode::Read::new(fd, room.as_mut_ptr().cast(), transfer(room.len())).offset(position).build()
            }
            Work::Write { buffer, offset, written, sync } => {
                let rest = &buffer[*written..];
                let position = *offset + *written as u64;
                let entry =
                    opcode::Write::new(fd, rest.as_ptr(), transfer(rest.len())).offset(position).build();
                if *sync && rest.len() <= TRANSFER_MAX {
                    let user_data = tag(index, Role::LinkedSync);
                    sync_entry = Some(data_sync(fd).user_data(user_data));
                    entry.flags(Flags::IO_LINK | Flags::SKIP_SUCCESS)
                } else {
                    entry
                }
            }
            Work::Sync { names: false } => data_sync(fd),
            Work::Sync { names: true } => opcode::Fsync::new(fd).build(),
            Work::Names(names) => names.entry(),
            Work::Wake { buffer } => {
                let room = buffer.spare_mut();
                opcode::Read::new(fd, room.as_mut_ptr().cast(), transfer(room.len())).build()
            }
        };
        Entries { main: main.user_data(tag(index, Role::Main)), sync: sync_entry }
    }

    /// Turns the result of its completion into an outcome, or into the rest of the work.
    pub(super) fn settle(mut self, role: Role, result: i32) -> Settled {
        match &mut self.work {
            Work::Wake { .. } => self.settle_wake(result),
            Work::Write { buffer, written, .. } if role == Role::LinkedSync => {
                *written = buffer.len();
                self.finish(role, result)
            }
            // Interrupted before anything happened. A sync is not repeated: the kernel may have dropped what
            // it could not write.
            work if result == -libc::EINTR && !matches!(work, Work::Sync { .. }) => Settled::Again(self),
            Work::Send { buffer, sent } => {
                *sent += count_of(result);
                if result >= 0 && *sent < buffer.len() {
                    Settled::Again(self)
                } else {
                    self.finish(role, result)
                }
            }
            Work::Read { buffer, total, direct, .. } => {
                let count = count_of(result);
                // SAFETY: the kernel wrote `count` bytes at the start of the spare capacity it was given.
                unsafe { buffer.advance(count) };
                *total += count;
                // Only the end of a file leaves a direct read at a position from which none can go on.
                let over = count == 0 || buffer.spare() == 0 || (*direct && !total.is_multiple_of(PAGE));
                if over { self.finish(role, result) } else { Settled::Again(self) }
            }
            Work::Write { buffer, written, .. } => {
                let count = count_of(result);
                *written += count;
                // A short write breaks the link, so the sync was cancelled and goes with the rest. Zero would
                // go on for ever.
                if count > 0 && *written < buffer.len() {
                    Settled::Again(self)
                } else {
                    self.finish(role, result)
                }
            }
            Work::Names(names) => {
                if names.turns_out_otherwise(result) {
                    Settled::Again(self)
                } else {
                    self.finish(role, result)
                }
            }
            Work::Accept { .. } | Work::Receive { .. } | Work::Sync { .. } => self.finish(role, result),
        }
    }

    /// Gives up what is not with the kernel.
    pub(super) fn abandon(self, error: fn(&'static str) -> IoError) -> Outcome {
        match self.work {
            Work::Accept { .. } => Outcome::Accepted(Err(error("accept"))),
            Work::Receive { buffer, .. } => Outcome::Received { buffer, result: Err(error("receive")) },
            Work::Send { buffer, .. } => Outcome::Sent { buffer, result: Err(error("send")) },
            Work::Read { buffer, .. } => Outcome::Read { buffer, result: Err(error("read")) },
            Work::Write { buffer, .. } => Outcome::Written { buffer, result: Err(error("write")) },
            Work::Names(names) => names.abandon(error),
            Work::Sync { .. } | Work::Wake { .. } => Outcome::Synced(Err(error("sync"))),
        }
    }

    fn settle_wake(mut self, result: i32) -> Settled {
        if let Work::Wake { buffer } = &mut self.work {
            buffer.clear();
        }
        match result {
            result if result >= 0 => Settled::Woken(self),
            interrupted if interrupted == -libc::EINTR => Settled::Again(self),
            refused => Settled::Deaf(IoError::new("read the eventfd", -refused)),
        }
    }

    /// Only called by `settle`, with everything moved that will be.
    fn finish(self, role: Role, result: i32) -> Settled {
        let outcome = match self.work {
            Work::Accept { peer } => Outcome::Accepted(accepted(result, &peer)),
            Work::Receive { mut buffer, .. } => {
                let received = check("receive", result);
                if let Ok(count) = received {
                    // SAFETY: the kernel wrote `count` bytes at the start of the spare capacity it was given.
                    unsafe { buffer.advance(count) };
                }
                Outcome::Received { buffer, result: received }
            }
            Work::Send { buffer, .. } => Outcome::Sent { buffer, result: check("send", result).map(drop) },
            Work::Read { buffer, total, .. } => {
                Outcome::Read { buffer, result: check("read", result).map(|_| total) }
            }
            Work::Write { buffer, .. } if role == Role::LinkedSync => {
                Outcome::Written { buffer, result: check("sync", result).map(drop) }
            }
            Work::Write { buffer, written, .. } => {
                let whole = written == buffer.len();
                let outcome = check("write", result)
                    .and_then(|_| if whole { Ok(()) } else { Err(IoError::new("write", libc::EIO)) });
                Outcome::Written { buffer, result: outcome }
            }
            Work::Names(names) => return names.finish(result),
            Work::Sync { .. } | Work::Wake { .. } => Outcome::Synced(check("sync", result).map(drop)),
        };
        Settled::Finished(outcome)
    }
}

/// The user data of a submission: which flight, which of its completions.
pub(super) fn tag(index: u32, role: Role) -> u64 {
    u64::from(index) << 1 | u64::from(role == Role::LinkedSync)
}

/// The inverse of [`tag`].
pub(super) fn untag(user_data: u64) -> (u32, Role) {
    let role = if user_data & 1 == 0 { Role::Main } else { Role::LinkedSync };
    (u32::try_from(user_data >> 1).expect("an index is 32 bits"), role)
}

fn accepted(result: i32, peer: &PeerAddress) -> Result<(Socket, std::net::SocketAddr), IoError> {
    if result < 0 {
        return Err(IoError::new("accept", -result));
    }
    // SAFETY: the kernel has just made this descriptor for this accept, and nothing else knows it.
    let socket = Socket::new(unsafe { OwnedFd::from_raw_fd(result) });
    let peer = peer.decode().ok_or(IoError::new("accept", libc::EAFNOSUPPORT))?;
    Ok((socket, peer))
}

fn data_sync(fd: types::Fd) -> Entry {
    opcode::Fsync::new(fd).flags(types::FsyncFlags::DATASYNC).build()
}

fn check(operation: &'static str, result: i32) -> Result<usize, IoError> {
    if result < 0 { Err(IoError::new(operation, -result)) } else { Ok(count_of(result)) }
}

fn count_of(result: i32) -> usize {
    usize::try_from(result).unwrap_or(0)
}

fn transfer(len: usize) -> u32 {
    u32::try_from(len.min(TRANSFER_MAX)).expect("the cap fits 32 bits")
}
