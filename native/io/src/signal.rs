//! The one signal the native side raises: it asks Python's fault handler for the stacks of all Python
//! threads.

use std::mem::MaybeUninit;

/// The signal, which the control plane gives to its fault handler.
const DUMP_SIGNAL: libc::c_int = libc::SIGUSR2;

/// Delivers the signal to the calling thread, so that no other thread's system call is interrupted: the
/// handler writes all stacks whichever thread it runs on. Without a handler the signal is not raised, for it
/// would end the process.
pub fn raise_dump_signal() {
    if !has_handler() {
        return;
    }
    with_dump_signal_unblocked(|| {
        // SAFETY: `raise` takes a valid signal number; its handler, which was installed for it, runs on this
        // thread.
        unsafe { libc::raise(DUMP_SIGNAL) };
    });
}

fn has_handler() -> bool {
    let mut present = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: with no new action given, the call only fills `present`, which has room for one action.
    unsafe { libc::sigaction(DUMP_SIGNAL, std::ptr::null(), present.as_mut_ptr()) };
    // SAFETY: filled above; should the call have failed, all-zero bytes are a valid action too.
    let present = unsafe { present.assume_init() };
    present.sa_sigaction != libc::SIG_DFL && present.sa_sigaction != libc::SIG_IGN
}

/// Native threads run with every signal blocked; a raised one would wait for ever.
fn with_dump_signal_unblocked(body: impl FnOnce()) {
    let mut only = MaybeUninit::<libc::sigset_t>::zeroed();
    let mut before = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: initialises the set it is given.
    unsafe { libc::sigemptyset(only.as_mut_ptr()) };
    // SAFETY: adds a valid signal to a set that was initialised above.
    unsafe { libc::sigaddset(only.as_mut_ptr(), DUMP_SIGNAL) };
    // SAFETY: reads one set, fills the other, and changes the mask of the calling thread only.
    unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, only.as_ptr(), before.as_mut_ptr()) };
    body();
    // SAFETY: `before` was filled above; a set of zeroes, had that failed, is a valid mask.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut()) };
}
