//! The one error of this crate: which operation failed, and what the kernel said.

use std::fmt;
use std::io;

use rustix::io::Errno;

/// A failed operation and the kernel's reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub struct IoError {
    operation: &'static str,
    errno: i32,
}

impl IoError {
    /// The error of `operation` with a raw error number.
    #[must_use]
    pub const fn new(operation: &'static str, errno: i32) -> Self {
        Self { operation, errno }
    }

    /// What was attempted: "accept", "bind", "write", ...
    #[must_use]
    pub const fn operation(&self) -> &'static str {
        self.operation
    }

    /// The kernel's error number.
    #[must_use]
    pub const fn errno(&self) -> i32 {
        self.errno
    }

    /// The process or the machine has no descriptor left; closing something helps, retrying at once does not.
    #[must_use]
    pub const fn is_out_of_descriptors(&self) -> bool {
        matches!(self.errno, libc::EMFILE | libc::ENFILE)
    }

    /// Somebody else listens on the address.
    #[must_use]
    pub const fn is_address_in_use(&self) -> bool {
        self.errno == libc::EADDRINUSE
    }

    /// The operation was given up because its handle was closed, or its driver dropped.
    #[must_use]
    pub const fn is_cancelled(&self) -> bool {
        self.errno == libc::ECANCELED
    }

    /// The file is held by another process, or by the last operations of one that has just ended.
    #[must_use]
    pub const fn is_held(&self) -> bool {
        self.errno == libc::EWOULDBLOCK
    }

    /// There is no space left for it.
    #[must_use]
    pub const fn is_full(&self) -> bool {
        matches!(self.errno, libc::ENOSPC | libc::EDQUOT)
    }

    /// There is no such file.
    #[must_use]
    pub const fn is_absent(&self) -> bool {
        self.errno == libc::ENOENT
    }

    /// The operating system does not allow it.
    #[must_use]
    pub const fn is_permission(&self) -> bool {
        matches!(self.errno, libc::EACCES | libc::EPERM)
    }

    /// The file system is read-only, or does not sync such files.
    #[must_use]
    pub const fn cannot_sync(&self) -> bool {
        matches!(self.errno, libc::EINVAL | libc::EROFS)
    }

    /// The peer gave up before its connection was accepted; the next one in the backlog is not affected.
    #[must_use]
    pub const fn is_lost_connection(&self) -> bool {
        matches!(self.errno, libc::ECONNABORTED | libc::ECONNRESET | libc::EPROTO)
    }

    pub(crate) const fn cancelled(operation: &'static str) -> Self {
        Self::new(operation, libc::ECANCELED)
    }

    pub(crate) const fn stale(operation: &'static str) -> Self {
        Self::new(operation, libc::EBADF)
    }

    pub(crate) const fn busy(operation: &'static str) -> Self {
        Self::new(operation, libc::EBUSY)
    }

    pub(crate) const fn invalid(operation: &'static str) -> Self {
        Self::new(operation, libc::EINVAL)
    }

    pub(crate) fn from_errno(operation: &'static str, errno: Errno) -> Self {
        Self::new(operation, errno.raw_os_error())
    }

    /// Errors that carry no number become EIO.
    pub(crate) fn from_io(operation: &'static str, error: &io::Error) -> Self {
        Self::new(operation, error.raw_os_error().unwrap_or(libc::EIO))
    }
}

impl fmt::Display for IoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The standard library ends its text with the number, which the symbolic name replaces.
        let text = io::Error::from_raw_os_error(self.errno).to_string();
        let words = text.split(" (os error").next().unwrap_or_default();
        match symbol(self.errno) {
            Some(name) => write!(f, "{}: {words} ({name})", self.operation),
            None => write!(f, "{}: {words} (errno {})", self.operation, self.errno),
        }
    }
}

fn symbol(errno: i32) -> Option<&'static str> {
    SYMBOLS.iter().find(|(number, _)| *number == errno).map(|(_, name)| *name)
}

/// The errors a server meets; any other is shown by number.
const SYMBOLS: &[(i32, &str)] = &[
    (libc::EPERM, "EPERM"),
    (libc::ENOENT, "ENOENT"),
    (libc::EINTR, "EINTR"),
    (libc::EIO, "EIO"),
    (libc::EBADF, "EBADF"),
    (libc::EAGAIN, "EAGAIN"),
    (libc::ENOMEM, "ENOMEM"),
    (libc::EACCES, "EACCES"),
    (libc::EBUSY, "EBUSY"),
    (libc::EEXIST, "EEXIST"),
    (libc::ENOTDIR, "ENOTDIR"),
    (libc::EISDIR, "EISDIR"),
    (libc::EINVAL, "EINVAL"),
    (libc::ENFILE, "ENFILE"),
    (libc::EMFILE, "EMFILE"),
    (libc::EFBIG, "EFBIG"),
    (libc::ENOSPC, "ENOSPC"),
    (libc::EROFS, "EROFS"),
    (libc::EPIPE, "EPIPE"),
    (libc::ENOSYS, "ENOSYS"),
    (libc::EPROTO, "EPROTO"),
    (libc::ENOTSOCK, "ENOTSOCK"),
    (libc::EOPNOTSUPP, "EOPNOTSUPP"),
    (libc::EAFNOSUPPORT, "EAFNOSUPPORT"),
    (libc::EADDRINUSE, "EADDRINUSE"),
    (libc::EADDRNOTAVAIL, "EADDRNOTAVAIL"),
    (libc::ENETDOWN, "ENETDOWN"),
    (libc::ENETUNREACH, "ENETUNREACH"),
    (libc::ECONNABORTED, "ECONNABORTED"),
    (libc::ECONNRESET, "ECONNRESET"),
    (libc::ENOBUFS, "ENOBUFS"),
    (libc::ENOTCONN, "ENOTCONN"),
    (libc::ETIMEDOUT, "ETIMEDOUT"),
    (libc::EHOSTUNREACH, "EHOSTUNREACH"),
    (libc::EDQUOT, "EDQUOT"),
    (libc::ECANCELED, "ECANCELED"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_reads_as_a_sentence_with_its_name() {
        let error = IoError::new("accept", libc::EMFILE);
        assert_eq!(error.to_string(), "accept: Too many open files (EMFILE)");
    }

    #[test]
    fn an_unlisted_error_shows_its_number() {
        let error = IoError::new("open", libc::EXDEV);
        assert_eq!(error.to_string(), "open: Invalid cross-device link (errno 18)");
    }

    #[test]
    fn predicates_tell_the_cases_apart() {
        assert!(IoError::new("accept", libc::ENFILE).is_out_of_descriptors());
        assert!(IoError::new("bind", libc::EADDRINUSE).is_address_in_use());
        assert!(IoError::new("bind", libc::EACCES).is_permission());
        assert!(IoError::cancelled("receive").is_cancelled());
        assert!(!IoError::stale("receive").is_cancelled());
    }
}
