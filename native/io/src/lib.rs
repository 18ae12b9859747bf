//! One completion-style view of disk, network, clock and threads.
//!
//! A shard owns a [`Driver`], hands it [`Operation`]s and collects [`Completion`]s; the only call that may
//! block is [`Driver::complete`]. An [`Environment`] makes drivers, threads, listeners and files. Two
//! backends exist: [`posix`] (epoll and a few threads for positional file I/O) and [`uring`] (io_uring), and a
//! deterministic twin of them, [`simulated`].
//! [`probe`] says which the machine can run.
//!
//! Every descriptor lives in an owning newtype, and a driver names what it adopted by generation-tagged
//! [`Handle`]s, so a late operation can never touch somebody else's descriptor.

pub mod affinity;
pub mod buffer;
pub mod buffer_pool;
pub mod chunk;
pub mod clock;
pub mod driver;
pub mod environment;
pub mod error;
pub mod exit;
pub mod file;
mod file_work;
pub mod memory;
mod names;
pub mod output;
pub mod posix;
pub mod prefetch;
pub mod probe;
mod random;
pub mod shared_pool;
pub mod signal;
pub mod simulated;
pub mod socket;
mod table;
pub mod thread;
pub mod uring;
pub mod waker;

pub use buffer::{Buffer, PAGE};
pub use buffer_pool::BufferPool;
pub use chunk::{Chunk, Framed};
pub use clock::{Instant, WallMicros};
pub use driver::{Completion, Driver, DriverCounters, DriverLimits, Handle, Operation, Outcome, Token, Wait};
pub use environment::Environment;
pub use error::IoError;
pub use file::{File, FileOptions};
pub use output::Output;
pub use posix::PosixEnvironment;
pub use shared_pool::SharedPool;
pub use simulated::SimulatedEnvironment;
pub use socket::{Listener, Socket};
pub use thread::{JoinHandle, ThreadPanic, ThreadSpec};
pub use uring::UringEnvironment;
pub use waker::Waker;
