//! Threads with a name, no signals, and a CPU of their own if asked.

use std::any::Any;
use std::mem::MaybeUninit;
use std::sync::mpsc;
use std::thread;

use crate::affinity;
use crate::error::IoError;

/// What a thread is started with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadSpec {
    /// Its name; the kernel keeps the first 15 bytes.
    pub name: String,
    /// The CPU to pin it to, if any.
    pub cpu: Option<usize>,
}

/// A started thread that can be joined. Dropping it lets the thread run on.
#[derive(Debug)]
pub struct JoinHandle {
    name: String,
    inner: thread::JoinHandle<()>,
}

/// A thread ended by a panic.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("thread {thread} panicked: {message}")]
pub struct ThreadPanic {
    /// The thread's name.
    pub thread: String,
    /// What the panic said.
    pub message: String,
}

impl JoinHandle {
    /// The thread's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the thread has ended, so that [`JoinHandle::join`] returns at once.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.inner.is_finished()
    }

    /// Waits for the thread to end.
    pub fn join(self) -> Result<(), ThreadPanic> {
        self.inner.join().map_err(|payload| ThreadPanic { thread: self.name, message: message_of(&*payload) })
    }
}

/// Starts a thread for an environment that runs on the machine itself.
pub(crate) fn spawn(spec: ThreadSpec, body: Box<dyn FnOnce() + Send>) -> Result<JoinHandle, IoError> {
    let ThreadSpec { name, cpu } = spec;
    let (report, outcome) = mpsc::sync_channel(1);
    let started = {
        // A thread inherits its maker's mask: blocking here leaves no moment in which the new thread could
        // take a signal.
        let _blocked = SignalsBlocked::enter();
        thread::Builder::new().name(name.clone()).spawn(move || {
            let pinned = cpu.map_or(Ok(()), affinity::pin_current_thread);
            let proceed = pinned.is_ok();
            if report.send(pinned).is_ok() && proceed {
                body();
            }
        })
    };
    let inner = started.map_err(|error| IoError::from_io("start a thread", &error))?;
    match outcome.recv() {
        Ok(Ok(())) => Ok(JoinHandle { name, inner }),
        Ok(Err(error)) => Err(error),
        Err(mpsc::RecvError) => Err(IoError::new("start a thread", libc::EIO)),
    }
}

/// Blocks every signal on the calling thread while it lives, then restores the mask it found.
struct SignalsBlocked {
    before: libc::sigset_t,
}

impl SignalsBlocked {
    fn enter() -> Self {
        let mut all = MaybeUninit::<libc::sigset_t>::uninit();
        let mut before = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: the pointer is to a live, writable set.
        unsafe { libc::sigfillset(all.as_mut_ptr()) };
        // SAFETY: `all` was filled just above, `before` is writable; with valid pointers and SIG_SETMASK the
        // call cannot fail.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr()) };
        // SAFETY: the successful call above wrote the old mask.
        let before = unsafe { before.assume_init() };
        Self { before }
    }
}

impl Drop for SignalsBlocked {
    fn drop(&mut self) {
        // SAFETY: `before` is an initialised set read from this very thread; a null old-set pointer is
        // allowed.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, std::ptr::null_mut()) };
    }
}

fn message_of(payload: &(dyn Any + Send)) -> String {
    if let Some(text) = payload.downcast_ref::<&str>() {
        (*text).to_owned()
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text.clone()
    } else {
        "a value that is not text".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(name: &str, cpu: Option<usize>) -> ThreadSpec {
        ThreadSpec { name: name.to_owned(), cpu }
    }

    fn status_line(field: &str) -> String {
        let status =
            std::fs::read_to_string("/proc/thread-self/status").expect("the thread's status is readable");
        let line = status.lines().find(|line| line.starts_with(field)).expect("the field exists");
        line[field.len()..].trim_matches([':', '\t', ' ']).to_owned()
    }

    fn run(spec: ThreadSpec, body: impl FnOnce() -> String + Send + 'static) -> Result<String, IoError> {
        let (send, receive) = mpsc::channel();
        let handle = spawn(spec, Box::new(move || send.send(body()).expect("the test waits")))?;
        let answer = receive.recv().expect("the body answers");
        handle.join().expect("the body does not panic");
        Ok(answer)
    }

    #[test]
    fn a_thread_has_its_name_and_every_signal_blocked() {
        let before = status_line("SigBlk");
        let name = run(spec("named", None), || status_line("Name")).expect("the thread starts");
        assert_eq!(name, "named");
        let blocked = run(spec("masked", None), || status_line("SigBlk")).expect("the thread starts");
        let mask = u64::from_str_radix(&blocked, 16).expect("the mask is hexadecimal");
        for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGUSR1, libc::SIGCHLD] {
            assert_ne!(mask & (1 << (signal - 1)), 0, "signal {signal} is blocked");
        }
        assert_eq!(status_line("SigBlk"), before, "the maker's own mask is restored");
    }

    #[test]
    fn a_pinned_thread_runs_on_that_cpu_only() {
        let cpu = *affinity::allowed_cpus().expect("the mask is readable").last().expect("a CPU is allowed");
        let list =
            run(spec("pinned", Some(cpu)), || status_line("Cpus_allowed_list")).expect("the thread starts");
        assert_eq!(list, cpu.to_string());
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_an_error_and_the_body_never_runs() {
        let error = run(spec("astray", Some(1_000_000)), || unreachable!("the body must not run"));
        assert_eq!(error.expect_err("no such CPU").errno(), libc::EINVAL);
    }

    #[test]
    fn a_panic_is_reported_by_join() {
        let handle =
            spawn(spec("doomed", None), Box::new(|| panic!("on purpose"))).expect("the thread starts");
        let panic = handle.join().expect_err("the body panicked");
        assert_eq!(panic.to_string(), "thread doomed panicked: on purpose");
    }
}
