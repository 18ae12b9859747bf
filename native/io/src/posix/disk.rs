//! The threads that wait for the disk so that a shard does not have to.
//!
//! A job owns its buffer, its paths and a share of its file; it comes back through the list of done work and the
//! driver's waker.

use std::collections::VecDeque;
use std::mem;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use crate::driver::{Handle, Outcome, Token};
use crate::error::IoError;
use crate::file::{File, FileOptions};
use crate::file_work::FileWork;
use crate::names;
use crate::thread::{self, JoinHandle, ThreadSpec};
use crate::waker::Waker;

/// Two writes in flight keep a disk busy while the results of a third are handled; more threads only queue in
/// the kernel.
const THREADS: usize = 2;

/// A running pair of threads. Dropping it finishes what runs, forgets what has not begun, and waits for the
/// threads.
#[derive(Debug)]
pub(super) struct DiskThreads {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle>,
}

/// One piece of work.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) token: Token,
    pub(super) work: Work,
}

/// What is to be done.
#[derive(Debug)]
pub(super) enum Work {
    OnFile { handle: Handle, file: Arc<File>, work: FileWork },
    Open { path: PathBuf, options: FileOptions },
    MakeDirectory { path: PathBuf },
    Rename { from: PathBuf, to: PathBuf },
    Link { from: PathBuf, to: PathBuf },
    Remove { path: PathBuf },
}

/// A job that is over.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) token: Token,
    pub(super) product: Product,
    pub(super) syscalls: u64,
}

/// What came of a job.
#[derive(Debug)]
pub(super) enum Product {
    OfFile { handle: Handle, outcome: Outcome },
    OfNames(Result<(), IoError>),
    Opened(Result<File, IoError>),
}

#[derive(Debug)]
struct Shared {
    queue: Mutex<Queue>,
    arrived: Condvar,
    done: Mutex<Vec<Done>>,
    waker: Waker,
}

/// Jobs not begun. The driver bounds its outstanding operations, and with them this queue and the list of
/// done work.
#[derive(Debug, Default)]
struct Queue {
    jobs: VecDeque<Job>,
    stopping: bool,
}

impl DiskThreads {
    pub(super) fn start(waker: Waker) -> Result<Self, IoError> {
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            arrived: Condvar::new(),
            done: Mutex::default(),
            waker,
        });
        // The value exists before its threads do, so that a failed start stops those that were started.
        let mut disk = Self { shared, threads: Vec::with_capacity(THREADS) };
        for index in 0..THREADS {
            let shared = Arc::clone(&disk.shared);
            let spec = ThreadSpec { name: format!("disk-{index}"), cpu: None };
            disk.threads.push(thread::spawn(spec, Box::new(move || shared.work()))?);
        }
        Ok(disk)
    }

    pub(super) fn push(&self, job: Job) {
        lock(&self.shared.queue).jobs.push_back(job);
        self.shared.arrived.notify_one();
    }

    /// Swaps the finished work into `into`, which the caller has emptied, so that both lists keep their
    /// memory.
    pub(super) fn take_done(&self, into: &mut Vec<Done>) {
        mem::swap(&mut *lock(&self.shared.done), into);
    }
}

impl Drop for DiskThreads {
    fn drop(&mut self) {
        lock(&self.shared.queue).stopping = true;
        self.shared.arrived.notify_all();
        for thread in self.threads.drain(..) {
            // A thread that panicked has ended the process through its hook, or is a test's; there is nobody
            // to tell here.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn work(&self) {
        while let Some(job) = self.next_job() {
            let done = job.run();
            lock(&self.done).push(done);
            self.waker.wake();
        }
    }

    fn next_job(&self) -> Option<Job> {
        let mut queue = lock(&self.queue);
        loop {
            if queue.stopping {
                return None;
            }
            if let Some(job) = queue.jobs.pop_front() {
                return Some(job);
            }
            queue = self.arrived.wait(queue).expect("nothing panics while it holds this lock");
        }
    }
}

impl Job {
    fn run(self) -> Done {
        let mut syscalls = 0;
        let product = match self.work {
            Work::OnFile { handle, file, work } => {
                Product::OfFile { handle, outcome: work.run(&file, &mut syscalls) }
            }
            Work::Open { path, options } => {
                // A file is asked what it lies on, too.
                syscalls += 1 + u64::from(options.lock) + u64::from(!options.directory);
                Product::Opened(File::open(&path, options))
            }
            Work::MakeDirectory { path } => {
                syscalls += 1;
                Product::OfNames(names::make_directory(&path))
            }
            Work::Rename { from, to } => {
                syscalls += 1;
                Product::OfNames(names::rename(&from, &to))
            }
            Work::Link { from, to } => {
                syscalls += 1;
                Product::OfNames(names::link(&from, &to))
            }
            Work::Remove { path } => {
                syscalls += 1;
                Product::OfNames(names::remove(&path))
            }
        };
        Done { token: self.token, product, syscalls }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nothing panics while it holds this lock")
}
