//! One node: a machine, and the process that runs on it, shard by shard.

use std::collections::VecDeque;

use ng_io::simulated::{Random, SimulatedClock, SimulatedDriver};
use ng_io::{Completion, Driver, Environment, SimulatedEnvironment, Wait};
use ng_replication::owner::owner;
use ng_replication::{LogRequest, Outgoing, ShardLog, Ticket};

use crate::boot::{self, Refused};
use crate::plan::Plan;
use crate::rows::Rows;

/// The log of a shard in a simulated world.
pub(crate) type Log = ShardLog<SimulatedEnvironment, Rows>;

/// Nanoseconds in a millisecond.
pub(crate) const MILLI: u64 = 1_000_000;

/// One shard of a process that runs.
pub(crate) struct Shard {
    driver: SimulatedDriver,
    log: Log,
    /// When the next turn is due, as of the last one; not known if somebody has given the log something since.
    next: Option<Option<u64>>,
    completions: Vec<Completion>,
}

/// A machine, which has a disk as long as it lives, and perhaps a process.
pub(crate) struct Node {
    /// Its number.
    pub(crate) number: u8,
    /// The machine.
    pub(crate) environment: SimulatedEnvironment,
    /// The shards of the process; none while it is down.
    pub(crate) shards: Vec<Shard>,
    /// How many shards the next process will have.
    pub(crate) shard_count: u16,
    /// How often a process was started.
    pub(crate) lives: u64,
    /// Whether its disk was there when the cluster was founded.
    pub(crate) founded: bool,
    /// It stands still until then.
    pub(crate) paused_until: u64,
    /// What leaves only then.
    pub(crate) held: VecDeque<Outgoing>,
    /// How many shards the last process had that started.
    pub(crate) had_shards: Option<u16>,
}

impl Node {
    /// A machine with an empty disk.
    #[must_use]
    pub(crate) fn new(number: u8, clock: &SimulatedClock, plan: &Plan) -> Self {
        let seed = Random::new(plan.seed ^ u64::from(number) << 40).next();
        Self {
            number,
            environment: SimulatedEnvironment::on(clock, seed),
            shards: Vec::new(),
            shard_count: plan.shards[usize::from(number)],
            lives: 0,
            founded: true,
            paused_until: 0,
            held: VecDeque::new(),
            had_shards: None,
        }
    }

    /// Whether a process runs.
    #[must_use]
    pub(crate) fn is_up(&self) -> bool {
        !self.shards.is_empty()
    }

    /// Starts a process.
    pub(crate) fn start(&mut self, plan: &Plan) -> Result<(), Refused> {
        self.lives += 1;
        // Every node reported an empty disk when the world began, and so the cluster was founded. On a disk that is there since
        // then, a group that the journal neither has nor may have lost was never opened: the life before ended first, and had
        // promised nothing. Founding it goes on in this one.
        self.shards = boot::boot(self, plan, self.founded)?;
        self.had_shards = u16::try_from(self.shards.len()).ok();
        // The start has taken time, which the world has not seen yet.
        self.paused_until = self.environment.now().as_nanos();
        Ok(())
    }

    /// Whether the next start changes the number of shards.
    #[must_use]
    pub(crate) fn reshards(&self) -> bool {
        self.had_shards.is_some_and(|had| had != self.shard_count)
    }

    /// When something happens here that nobody from outside brings.
    #[must_use]
    pub(crate) fn next(&self) -> Option<u64> {
        if !self.held.is_empty() {
            return Some(self.paused_until);
        }
        let next = self.shards.iter().filter_map(Shard::next).min()?;
        Some(next.max(self.paused_until))
    }

    /// Lets every shard that has something to do, do it.
    pub(crate) fn turn(&mut self, now: u64, into: &mut VecDeque<Outgoing>) {
        for shard in &mut self.shards {
            if shard.next().is_some_and(|next| next <= now) {
                shard.turn(now, into);
            }
        }
    }

    /// Hands a request to the shard of its group.
    pub(crate) fn request(
        &mut self,
        ticket: Ticket,
        request: LogRequest,
        now: u64,
        into: &mut VecDeque<Outgoing>,
    ) {
        let shards = u16::try_from(self.shards.len()).unwrap_or(1);
        let shard = usize::from(owner(request.group, shards));
        if let Some(shard) = self.shards.get_mut(shard) {
            shard.log.request(ticket, request);
            shard.turn(now, into);
        }
    }

    /// Hands a frame to the shard of its group, or to all if it is about no group.
    pub(crate) fn receive(&mut self, from: u8, frame: &[u8], now: u64, into: &mut VecDeque<Outgoing>) {
        let group = frame
            .get(64..72)
            .and_then(|bytes| bytes.first_chunk())
            .map_or(0, |group| u64::from_le_bytes(*group));
        let shards = u16::try_from(self.shards.len()).unwrap_or(1);
        for (number, shard) in (0_u16..).zip(&mut self.shards) {
            if group == 0 || owner(group, shards) == number {
                shard.log.receive(from, frame);
                shard.turn(now, into);
            }
        }
    }

    /// The shard that a group lives on, to give it something.
    pub(crate) fn shard_of_mut(&mut self, group: u64) -> Option<&mut Shard> {
        let shards = u16::try_from(self.shards.len()).ok().filter(|shards| *shards > 0)?;
        self.shards.get_mut(usize::from(owner(group, shards)))
    }

    /// The shard that a group lives on.
    #[must_use]
    pub(crate) fn shard_of(&self, group: u64) -> Option<&Shard> {
        let shards = u16::try_from(self.shards.len()).ok()?;
        self.shards.get(usize::from(owner(group, shards)))
    }
}

impl Shard {
    /// A shard whose log has just been opened.
    #[must_use]
    pub(crate) fn new(driver: SimulatedDriver, log: Log) -> Self {
        Self { driver, log, next: None, completions: Vec::new() }
    }

    /// Its groups.
    pub(crate) const fn log(&self) -> &Log {
        &self.log
    }

    /// The same, to give them something.
    pub(crate) const fn log_mut(&mut self) -> &mut Log {
        self.next = None;
        &mut self.log
    }

    /// What the log was given has to be started: it is turned at once, as a server does after each request.
    pub(crate) const fn wake(&mut self) {
        self.next = Some(Some(0));
    }

    fn next(&self) -> Option<u64> {
        self.next.unwrap_or_else(|| self.look_ahead())
    }

    fn look_ahead(&self) -> Option<u64> {
        let deadline = self.log.deadline().map(|at| at.as_nanos());
        let executed = self.log.metadata().due().map(|at| at * MILLI);
        [self.driver.next_completion(), deadline, executed].iter().flatten().min().copied()
    }

    fn turn(&mut self, now: u64, into: &mut VecDeque<Outgoing>) {
        self.next = None;
        self.log.metadata_mut().advance(now / MILLI);
        if self.driver.complete(Wait::Now, &mut self.completions).is_err() {
            return;
        }
        for completion in self.completions.drain(..) {
            self.log.complete(&mut self.driver, completion);
        }
        self.log.turn(&mut self.driver);
        into.extend(self.log.outgoing());
        self.next = Some(self.look_ahead());
    }
}
