//! How a call ended.

use std::cell::RefCell;

/// How a call ended; negated as the result of a call that failed.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// As asked.
    Ok = 0,
    /// A ring has no room; the call may be repeated later.
    Busy = 1,
    /// The buffer is too small; the needed size was written.
    Need = 2,
    /// An argument is not what it must be.
    Invalid = 3,
    /// No engine has this handle, or it has been closed.
    Closed = 4,
    /// The engine belongs to another process: this one was forked from it.
    WrongProcess = 5,
    /// The engine is not in the stage that the call is for.
    WrongStage = 6,
    /// The deadline passed.
    Timeout = 7,
    /// The configuration cannot work on this machine.
    Configuration = 8,
    /// Somebody else listens on the address.
    AddressInUse = 9,
    /// The operating system does not allow it.
    Permission = 10,
    /// The operating system refused.
    Io = 11,
    /// A fault of ours.
    Panic = 12,
}

/// A status and the sentence that explains it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The status.
    pub status: Status,
    /// For the operator.
    pub sentence: String,
}

impl Failure {
    /// A failure with its sentence.
    pub fn new(status: Status, sentence: impl Into<String>) -> Self {
        Self { status, sentence: sentence.into() }
    }

    /// Keeps the sentence for the calling thread and returns the call's result.
    pub(crate) fn into_result(self) -> i64 {
        set_last_error(self.sentence);
        -i64::from(self.status as i32)
    }
}

thread_local! {
    static LAST_ERROR: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Keeps a sentence for the calling thread.
pub(crate) fn set_last_error(sentence: String) {
    LAST_ERROR.set(sentence);
}

/// The sentence of the calling thread's last failure.
pub(crate) fn last_error() -> String {
    LAST_ERROR.with_borrow(Clone::clone)
}
