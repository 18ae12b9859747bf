//! The process of the one node, driven request by request.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use ng_io::simulated::SimulatedClock;
use ng_io::{Chunk, Environment};
use ng_replication::owner::METADATA;
use ng_replication::{
    Keeping, LogAnswer, LogRequest, OffsetHold, Outgoing, Poll, PollRefusal, Polled, RetentionLimits, Ticket,
};
use ng_wire::replica::{LogOperation, Op};

use crate::boot::{self, Refused};
use crate::judges::Verdict;
use crate::node::{MILLI, Node};
use crate::plan::Plan;
use crate::story::Story;

/// Rounds at one moment after which something is done over and over.
const STILL_MAX: u64 = 100_000;

/// A machine with its clock, and what its process says.
pub(super) struct Process {
    pub(super) plan: Plan,
    pub(super) node: Node,
    clock: SimulatedClock,
    now: u64,
    next_ticket: u64,
    outgoing: VecDeque<Outgoing>,
    pub(super) answers: BTreeMap<Ticket, LogAnswer>,
    pub(super) polls: BTreeMap<Ticket, Result<Polled, PollRefusal>>,
    /// Batches that were executed, by group and place, since they were taken.
    pub(super) executed: BTreeMap<(u64, Op), Arc<Chunk>>,
    /// Ranges of lost messages that this life has named, by group.
    pub(super) fences: BTreeMap<u64, Vec<(u64, u64)>>,
    pub(super) operations: u64,
    pub(super) story: Story,
}

impl Process {
    pub(super) fn new(plan: Plan, told: bool) -> Self {
        let clock = SimulatedClock::default();
        Self {
            node: Node::new(0, &clock, &plan),
            plan,
            clock,
            now: 0,
            next_ticket: 1,
            outgoing: VecDeque::new(),
            answers: BTreeMap::new(),
            polls: BTreeMap::new(),
            executed: BTreeMap::new(),
            fences: BTreeMap::new(),
            operations: 0,
            story: Story::new(told),
        }
    }

    /// Virtual milliseconds since it was made.
    pub(super) const fn lived(&self) -> u64 {
        self.now / MILLI
    }

    pub(super) fn groups(&self) -> Vec<u64> {
        boot::groups(&self.plan).into_iter().map(|(group, _)| group).collect()
    }

    pub(super) fn partitions(&self) -> Vec<u64> {
        self.groups().into_iter().filter(|group| *group != METADATA).collect()
    }

    pub(super) fn tell(&mut self, line: impl FnOnce() -> String) {
        self.story.tell(self.now, line);
    }

    /// Starts a process whose segments are sealed at some bytes.
    pub(super) fn start(&mut self, segment_bytes: u64) -> Result<(), Refused> {
        self.tell(|| "the node starts".to_owned());
        self.fences.clear();
        if let Err(refused) = self.node.start(&self.plan) {
            self.node.environment.kill();
            self.tell(|| format!("it does not start: {refused}"));
            return Err(refused);
        }
        self.now = self.now.max(self.node.paused_until);
        self.clock.advance_to(self.now);
        for shard in &mut self.node.shards {
            let limits = RetentionLimits { period: Some(500), hold: OffsetHold::Never };
            shard.log_mut().set_retention_limits(limits);
        }
        for group in self.partitions() {
            if let Some(shard) = self.node.shard_of_mut(group) {
                shard.log_mut().keep(group, Keeping { segment_bytes, expiry: u64::MAX, bytes_max: u64::MAX });
            }
        }
        // A process takes requests after its first turn.
        self.node.turn(self.now, &mut self.outgoing);
        Ok(())
    }

    /// Where the replica of a group stands.
    pub(super) fn sketch(&self, group: u64) -> String {
        format!("{:?}", self.node.shard_of(group).and_then(|shard| shard.log().status(group)))
    }

    /// Sends a request.
    pub(super) fn ask(&mut self, request: LogRequest) -> Result<Ticket, Verdict> {
        let ticket = self.ticket();
        self.node.request(ticket, request, self.now, &mut self.outgoing);
        self.take()?;
        Ok(ticket)
    }

    /// Polls; none if no shard has the group.
    pub(super) fn poll(&mut self, poll: Poll) -> Option<Ticket> {
        let ticket = self.ticket();
        let shard = self.node.shard_of_mut(poll.group)?;
        shard.log_mut().poll(ticket, poll);
        shard.wake();
        Some(ticket)
    }

    fn ticket(&mut self) -> Ticket {
        self.next_ticket += 1;
        Ticket(self.next_ticket - 1)
    }

    /// Lets the process work until something is so, for some milliseconds at most. Whether it is so.
    pub(super) fn until(&mut self, millis: u64, is_so: impl Fn(&Self) -> bool) -> Result<bool, Verdict> {
        let end = self.now + millis * MILLI;
        let mut still = 0;
        while !is_so(self) {
            let next = self.node.next().map_or(end, |next| next.max(self.now));
            if next >= end {
                self.now = end;
                self.clock.advance_to(end);
                return Ok(is_so(self));
            }
            still = if next > self.now { 0 } else { still + 1 };
            if still > STILL_MAX {
                return Err(Verdict(format!("time stands still at {} ns", self.now)));
            }
            self.now = next;
            self.clock.advance_to(next);
            self.node.turn(next, &mut self.outgoing);
            self.take()?;
        }
        Ok(true)
    }

    /// Lets it work for some milliseconds.
    pub(super) fn rest(&mut self, millis: u64) -> Result<(), Verdict> {
        self.until(millis, |_| false).map(|_| ())
    }

    /// The last operation of the metadata that was executed.
    pub(super) fn metadata_executed(&self) -> Op {
        let status = self.node.shard_of(METADATA).and_then(|shard| shard.log().status(METADATA));
        status.map_or(Op::ZERO, |status| status.commit_min)
    }

    /// Stops in order.
    pub(super) fn stop(&mut self) -> Result<(), Verdict> {
        self.tell(|| "the node stops in order".to_owned());
        for shard in &mut self.node.shards {
            shard.log_mut().begin_stop();
            shard.wake();
        }
        let stopped =
            self.until(30_000, |process| process.node.shards.iter().all(|shard| shard.log().is_stopped()))?;
        if !stopped {
            return Err(Verdict("an orderly stop does not end".to_owned()));
        }
        self.end(false);
        Ok(())
    }

    /// Ends the process; `power`: with the power of the machine.
    pub(super) fn end(&mut self, power: bool) {
        if power {
            self.node.environment.cut_power();
        } else {
            self.node.environment.kill();
        }
        self.tell(|| if power { "the power goes" } else { "the process is gone" }.to_owned());
        self.node.shards.clear();
        self.node.paused_until = 0;
        self.answers.clear();
        self.polls.clear();
    }

    fn take(&mut self) -> Result<(), Verdict> {
        while let Some(outgoing) = self.outgoing.pop_front() {
            match outgoing {
                Outgoing::Answer { ticket, answer } => {
                    self.answers.insert(ticket, answer);
                }
                Outgoing::Polled { ticket, answer } => {
                    self.polls.insert(ticket, answer);
                }
                Outgoing::Executed { group, header, body, .. } => {
                    if !header.verifies(&body) {
                        return Err(Verdict(format!(
                            "op {} of {group:x} is executed on other bytes",
                            header.op
                        )));
                    }
                    self.operations += 1;
                    if LogOperation::from_code(header.operation) == Some(LogOperation::Batch) {
                        self.executed.insert((group, header.op), body);
                    }
                }
                Outgoing::Fenced { group, fences } => {
                    self.tell(|| format!("{fences:?} of {group:x} are lost"));
                    let ranges = fences.iter().map(|fence| (fence.first_offset, fence.last_offset)).collect();
                    self.fences.insert(group, ranges);
                }
                Outgoing::Damaged { group, offset } => {
                    self.tell(|| format!("a poll of {group:x} meets damage at offset {offset}"));
                }
                Outgoing::Fatal(fatal) => return Err(Verdict(format!("the process ends: {fatal:?}"))),
                Outgoing::Undecidable { group, op } => {
                    return Err(Verdict(format!(
                        "op {op} of {group:x} is undecidable, and the node is alone"
                    )));
                }
                Outgoing::RemovalFailed { group, error } => {
                    return Err(Verdict(format!("files of {group:x} are not removed: {error}")));
                }
                Outgoing::Frame { .. }
                | Outgoing::Installed { .. }
                | Outgoing::Evicted(_)
                | Outgoing::Removed { .. }
                | Outgoing::Cut { .. }
                | Outgoing::Adopted { .. } => {}
            }
        }
        Ok(())
    }

    /// A digest of everything that the disk did.
    pub(super) fn trace(&self) -> u64 {
        self.node.environment.trace()
    }

    /// The wall clock, in microseconds, for batches.
    pub(super) fn wall(&self) -> u64 {
        self.node.environment.wall().0
    }
}
