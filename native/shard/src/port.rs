//! The end of the engine that Python uses: records, events and the doorbell.

use std::collections::VecDeque;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::{Arc, Mutex, PoisonError};

use ng_control::adopt_order::AdoptOrder;
use ng_control::applied::Applied;
use ng_control::cut_order::CutOrder;
use ng_control::event_ring::LoggedEvent;
use ng_control::host_figures::HostFigures;
use ng_control::reconcile_order;
use ng_control::record::{Drained, Record, RecordReader, RecordWriter};
use ng_io::IoError;
use ng_mesh::doorbell::{Doorbell, Wake};
use ng_session::enrichments::Enriched;
use ng_wire::primitive::{put_u16, put_u64};
use ng_wire::table::record::{FromPython, ToPython};
use rtrb::Consumer;
use rustix::event::{EventfdFlags, eventfd};

use crate::metadata::proposal;
use crate::node::NodeShared;
use crate::turn::login_verdict;

/// Python's doorbell: the eventfd in its event loop.
pub type PythonBell = Doorbell<Eventfd>;

/// An eventfd. The engine writes to ring it, and Python reads it.
#[derive(Debug)]
pub struct Eventfd(OwnedFd);

impl Eventfd {
    /// A new eventfd, not rung.
    pub fn new() -> Result<Self, IoError> {
        eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map(Self)
            .map_err(|errno| IoError::new("eventfd", errno.raw_os_error()))
    }

    /// Descriptor for the event loop.
    pub fn raw(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

impl Wake for Eventfd {
    fn wake(&self) {
        // Fails only if the counter is at its maximum; then the reader is already awake.
        rustix::io::write(&self.0, &1u64.to_ne_bytes()).ok();
    }
}

/// Records of the supervisor. They are few, and a full ring must not lose them.
#[derive(Debug, Default)]
pub struct Notices(Mutex<VecDeque<Vec<u8>>>);

impl Notices {
    /// Adds a record.
    pub fn push(&self, record: &Record<'_>) {
        let mut bytes = Vec::new();
        record.write(&mut bytes);
        self.push_bytes(bytes);
    }

    /// Adds the bytes of a record.
    pub fn push_bytes(&self, bytes: Vec<u8>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_back(bytes);
    }

    fn is_empty(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    fn drain(&self, out: &mut Vec<u8>, capacity: usize) -> Drained {
        let mut notices = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(bytes) = notices.front() {
            if out.len() + bytes.len() > capacity {
                return Drained::Needs(bytes.len());
            }
            out.extend_from_slice(bytes);
            notices.pop_front();
        }
        Drained::Empty
    }
}

/// Reason why a submission was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubmitError {
    /// The bytes are not whole records of known kinds with well-formed bodies. None was taken.
    Malformed,
    /// The ring has no room for the next record.
    Busy {
        /// Bytes of the records before it, which were taken.
        taken: usize,
    },
}

/// Python's ends of the rings. One thread uses it at a time.
#[derive(Debug)]
pub struct Port {
    /// Records from shard 0.
    pub records: RecordReader,
    /// Records to shard 0.
    pub submissions: RecordWriter,
    /// Events of all shards, by shard number.
    pub events: Vec<Consumer<LoggedEvent>>,
    /// Records of the supervisor.
    pub notices: Arc<Notices>,
    /// Python's doorbell.
    pub bell: Arc<PythonBell>,
    /// Shared state of the node, with the shards' doorbells.
    pub node: Arc<NodeShared>,
}

impl Port {
    /// Fills `out` with whole records, up to `capacity` bytes. After everything is drained, the next record
    /// rings the bell.
    pub fn drain(&mut self, out: &mut Vec<u8>, capacity: usize) -> Drained {
        self.bell.awake();
        loop {
            for drained in [self.notices.drain(out, capacity), self.records.drain(out, capacity)] {
                if drained != Drained::Empty {
                    return drained;
                }
            }
            if let Drained::Needs(bytes) = self.drain_events(out, capacity) {
                return Drained::Needs(bytes);
            }
            if self.bell.may_sleep(|| self.is_empty()) {
                return Drained::Empty;
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.notices.is_empty() && self.records.is_empty() && self.events.iter().all(Consumer::is_empty)
    }

    fn drain_events(&mut self, out: &mut Vec<u8>, capacity: usize) -> Drained {
        for (shard, events) in self.events.iter_mut().enumerate() {
            while let Ok(event) = events.peek() {
                let record = event_bytes(u16::try_from(shard).expect("shards are counted in a u16"), event);
                if out.len() + record.len() > capacity {
                    return Drained::Needs(record.len());
                }
                out.extend_from_slice(&record);
                events.pop().expect("peeked just now");
            }
        }
        Drained::Empty
    }

    /// Takes records for shard 0 and wakes it.
    pub fn submit(&mut self, bytes: &[u8]) -> Result<(), SubmitError> {
        if !are_well_formed(bytes) {
            return Err(SubmitError::Malformed);
        }
        let taken = self.submissions.push_all(bytes);
        if let Some([first, ..]) = self.node.bells.get().map(Vec::as_slice) {
            first.ring();
        }
        if taken == bytes.len() { Ok(()) } else { Err(SubmitError::Busy { taken }) }
    }
}

/// Encodes a `NativeEvent` record.
pub fn event_bytes(shard: u16, event: &LoggedEvent) -> Vec<u8> {
    let mut body = Vec::with_capacity(26);
    put_u16(&mut body, event.event.code());
    put_u64(&mut body, event.fields[0]);
    put_u64(&mut body, event.fields[1]);
    put_u64(&mut body, event.wall.0);
    let mut out = Vec::new();
    Record { kind: ToPython::NativeEvent.code(), shard, token: 0, body: &body }.write(&mut out);
    out
}

/// Returns true if the bytes are whole records that shard 0 can execute without further checks.
fn are_well_formed(mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        let Some((record, rest)) = Record::split(bytes) else { return false };
        let valid = FromPython::from_code(record.kind).map_or_else(
            || is_fault(&record),
            |kind| match kind {
                FromPython::LoginVerdict => login_verdict(record.body).is_some(),
                FromPython::HostFigures => HostFigures::decode(record.body).is_ok(),
                FromPython::OpenDoors | FromPython::Converged => record.body.is_empty(),
                FromPython::AppliedPart => true,
                FromPython::Applied => Applied::decode(record.body).is_ok(),
                FromPython::Cut => CutOrder::decode(record.body).is_some(),
                FromPython::Adopt => AdoptOrder::decode(record.body).is_some(),
                FromPython::Enriched => Enriched::decode(record.body).is_ok(),
                FromPython::Propose => proposal(record.body).is_some(),
                FromPython::Reconcile => reconcile_order::orders(record.body).is_some(),
            },
        );
        if !valid {
            return false;
        }
        bytes = rest;
    }
    true
}

#[cfg(debug_assertions)]
fn is_fault(record: &Record<'_>) -> bool {
    ng_mesh::fault::Fault::of(record).is_some()
}

/// A release build knows no faults.
#[cfg(not(debug_assertions))]
const fn is_fault(_record: &Record<'_>) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u16, body: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        Record { kind, shard: 0, token: 1, body }.write(&mut bytes);
        bytes
    }

    #[test]
    fn only_known_kinds_with_whole_bodies_pass() {
        assert!(are_well_formed(&[]));
        assert!(are_well_formed(&record(FromPython::OpenDoors.code(), &[])));
        assert!(are_well_formed(&record(FromPython::LoginVerdict.code(), &[0, 1, 0, 0, 0])));
        for bad in [
            record(FromPython::LoginVerdict.code(), &[9, 1, 0, 0, 0]),
            record(FromPython::LoginVerdict.code(), &[0, 1, 0, 0]),
            record(FromPython::OpenDoors.code(), &[1]),
            record(FromPython::HostFigures.code(), &[0; 10]),
            record(FromPython::Propose.code(), &[]),
            record(99, &[]),
            vec![1, 2, 3],
        ] {
            assert!(!are_well_formed(&bad), "{bad:?}");
        }
    }
}
