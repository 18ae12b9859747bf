//! The deterministic twin: machines with a disk in memory, in a world whose time moves only when told, all of it driven
//! by seeds.
//!
//! The same calls with the same seed give the same outcomes in the same order, which [`SimulatedEnvironment::trace`]
//! proves. Clients elsewhere reach the listeners of a machine by streams ([`SimulatedEnvironment::connect`]); what nodes say to
//! each other goes as frames through a [`SimulatedNetwork`]. It starts no threads: a scheduler turns what would run on them.
//!
//! A machine made with [`SimulatedEnvironment::new`] has a clock of its own, which waiting in
//! [`crate::Driver::complete`] moves. Machines made with [`SimulatedEnvironment::on`] share one, which a scheduler moves:
//! there `complete` never waits, it hands out what is due, and [`SimulatedDriver::next_completion`] says when to come
//! back. A start that waits for one operation after the other runs inside [`SimulatedEnvironment::boot`].
//!
//! A judge can watch the changes of a disk ([`SimulatedEnvironment::watch`]), and set a [`Fuse`] to end the process, or to fail
//! an operation, at one of them.

mod adopted;
mod clock;
mod content;
mod crash;
mod disk;
mod driver;
mod environment;
mod flight;
mod machine;
mod names;
mod network;
mod pipe;
mod random;
mod socket;
mod streams;
mod watch;

pub use clock::SimulatedClock;
pub use driver::{SimulatedDriver, SimulatedFile};
pub use environment::SimulatedEnvironment;
pub use network::{NetworkFaults, SimulatedNetwork};
pub use pipe::StreamWeather;
pub use random::Random;
pub use socket::{SimulatedListener, SimulatedPeer, SimulatedSocket};
pub use streams::Arrived;
pub use watch::{ChangeKind, DiskChange, Fuse};

/// What a power cut tears apart: the unit that a disk writes as a whole.
pub const SECTOR: usize = 512;

/// How often things go wrong, in thousandths of the cases of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Writes that fail with EIO after any part of them was done.
    pub write_error: u32,
    /// Syncs that fail with EIO; what was to be synced is lost or not at the next cut, as it falls.
    pub sync_error: u32,
    /// Reads that fail with EIO once.
    pub read_error: u32,
    /// Removals of files and directories that fail with EACCES.
    pub removal_error: u32,
    /// Writes that go to another page of the same file and say nothing.
    pub misdirected_write: u32,
    /// Writes under way at a kill that land only later, maybe after the next process has opened the file. A file that was
    /// opened with `lock` stays locked until they have.
    pub late_writes: u32,
    /// Directories that a power cut throws back to some moment since they were last synced. At zero all names survive.
    pub lost_names: u32,
}
