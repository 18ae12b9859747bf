//! Descriptors of a ring's driver, and which directions of them are taken.

use std::os::fd::{AsFd, AsRawFd, RawFd};

use super::flight::Work;
use super::peer::PeerAddress;
use crate::driver::{Operation, Outcome};
use crate::error::IoError;
use crate::file::File;
use crate::file_work::FileWork;
use crate::socket::{KernelListener, KernelSocket};

#[derive(Debug)]
pub(super) struct Resource {
    pub(super) descriptor: Descriptor,
    pub(super) flights: u32,
    /// A `Receive` or an `Accept` is under way.
    reading: bool,
    /// A `Send` is under way.
    writing: bool,
    /// Closed by its owner: the handle is stale, only the flights still know it.
    pub(super) closing: bool,
}

#[derive(Debug)]
pub(super) enum Descriptor {
    Socket(KernelSocket),
    Listener(KernelListener),
    File(File),
}

impl Descriptor {
    pub(super) fn raw(&self) -> RawFd {
        match self {
            Self::Socket(socket) => socket.as_fd().as_raw_fd(),
            Self::Listener(listener) => listener.as_fd().as_raw_fd(),
            Self::File(file) => file.as_fd().as_raw_fd(),
        }
    }

    /// Makes waiting network operations return. Disk operations run to their end.
    pub(super) fn shut_down(&self) {
        match self {
            Self::Socket(socket) => socket.shut_down(),
            Self::Listener(listener) => listener.shut_down(),
            Self::File(_) => {}
        }
    }
}

impl Resource {
    pub(super) fn new(descriptor: Descriptor) -> Self {
        Self { descriptor, flights: 0, reading: false, writing: false, closing: false }
    }

    /// Turns an operation into work on this resource, if it is of the right kind and the direction is free, or into its
    /// outcome.
    pub(super) fn work_of(&mut self, operation: Operation, syscalls: &mut u64) -> Result<Work, Outcome> {
        match (&self.descriptor, operation) {
            (Descriptor::Listener(_), Operation::Accept { .. }) if self.reading => {
                Err(Outcome::Accepted(Err(IoError::busy("accept"))))
            }
            (Descriptor::Listener(_), Operation::Accept { .. }) => {
                self.reading = true;
                Ok(Work::Accept { peer: PeerAddress::new() })
            }
            (Descriptor::Socket(_), Operation::Receive { buffer, .. }) if self.reading => {
                Err(Outcome::Received { buffer, result: Err(IoError::busy("receive")) })
            }
            (Descriptor::Socket(_), Operation::Receive { buffer, .. }) if buffer.spare() == 0 => {
                Err(Outcome::Received { buffer, result: Err(IoError::invalid("receive")) })
            }
            (Descriptor::Socket(_), Operation::Receive { buffer, wanted, .. }) => {
                self.reading = true;
                Ok(Work::Receive { buffer, wanted })
            }
            (Descriptor::Socket(_), Operation::Send { buffer, .. }) if self.writing => {
                Err(Outcome::Sent { buffer, result: Err(IoError::busy("send")) })
            }
            (Descriptor::Socket(_), Operation::Send { buffer, .. }) => {
                self.writing = true;
                Ok(Work::Send { buffer, sent: 0 })
            }
            (Descriptor::File(file), operation) => match FileWork::of(operation) {
                Ok(work) if work.is_only_a_copy(file) => Err(work.run(file, syscalls)),
                Ok(work) => Ok(Work::on_file(work, file)),
                Err(operation) => Err(unfit(operation)),
            },
            (_, operation) => Err(unfit(operation)),
        }
    }

    /// Frees the direction an operation had taken.
    pub(super) fn release(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Accepted(_) | Outcome::Received { .. } => self.reading = false,
            Outcome::Sent { .. } => self.writing = false,
            Outcome::Read { .. }
            | Outcome::Written { .. }
            | Outcome::Synced(_)
            | Outcome::Opened(_)
            | Outcome::Named(_) => {}
        }
    }
}

fn unfit(operation: Operation) -> Outcome {
    Outcome::failed(operation, IoError::stale("operation on another kind of handle"))
}
