//! What surrounds the body of every export.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process;
use std::sync::OnceLock;

use crate::status::{Failure, Status};

/// Runs the body of a call. A panic becomes a status; in a process with a started engine the panic hook has ended the
/// process before that.
pub(crate) fn call(body: impl FnOnce() -> Result<i64, Failure>) -> i64 {
    let outcome = catch_unwind(AssertUnwindSafe(body));
    let failure = match outcome {
        Ok(Ok(result)) => return result,
        Ok(Err(failure)) => failure,
        Err(_) => Failure::new(Status::Panic, "a native call panicked"),
    };
    failure.into_result()
}

/// Runs the body of a call that belongs to an engine: not in a child forked from the process that opened the first one,
/// where the engine's threads do not exist.
pub(crate) fn engine_call(body: impl FnOnce() -> Result<i64, Failure>) -> i64 {
    static OWNER: OnceLock<u32> = OnceLock::new();
    call(|| {
        if *OWNER.get_or_init(process::id) == process::id() {
            body()
        } else {
            Err(Failure::new(
                Status::WrongProcess,
                "the engine belongs to the process this one was forked from",
            ))
        }
    })
}
