//! Polls that wait for memory for their replies.

use std::collections::VecDeque;
use std::time::Duration;

use ng_io::Instant;
use ng_mesh::frame::Place;
use ng_net::ConnectionId;
use ng_replication::Poll;
use ng_wire::frame::RequestHeader;

/// Polls that wait on one shard. One more is told to try again.
const WAITING_MAX: usize = 4096;

/// How long a poll waits before it is told to try again: clients that read make room in much less.
const PATIENCE: Duration = Duration::from_secs(5);

/// Polls under way make room in less than this. If a poll has waited for longer, clients that do not read
/// hold the memory.
const SHORTAGE: Duration = Duration::from_secs(1);

/// A poll of a connection, one at a time for each.
#[derive(Debug)]
pub struct WaitingPoll {
    /// Who waits.
    pub connection: ConnectionId,
    /// What its reply echoes.
    pub header: RequestHeader,
    /// Which partition.
    pub place: Place,
    /// What it asks for, but for how much its reply may have.
    pub poll: Poll,
    /// Since when.
    pub since: Instant,
}

/// First come, first served: clients that are known to read among themselves, and the others.
#[derive(Debug, Default)]
pub struct WaitingPolls {
    proven: VecDeque<WaitingPoll>,
    unproven: VecDeque<WaitingPoll>,
    /// When a shortage was reported last.
    reported_at: Option<Instant>,
}

impl WaitingPolls {
    /// How many wait.
    pub fn count(&self) -> usize {
        self.proven.len() + self.unproven.len()
    }

    /// Lets a poll wait. Returns whether there was a place for it.
    pub(super) fn join(&mut self, waiting: WaitingPoll, is_proven: bool) -> bool {
        let has_place = self.count() < WAITING_MAX;
        if has_place {
            self.queue(is_proven).push_back(waiting);
        }
        has_place
    }

    /// Takes the first of those that are known to read, or of the others, if `ready` says so.
    pub fn take_if(
        &mut self,
        is_proven: bool,
        ready: impl FnOnce(&mut WaitingPoll) -> bool,
    ) -> Option<WaitingPoll> {
        self.queue(is_proven).pop_front_if(ready)
    }

    /// Takes one that has waited for too long, or any if the server stops.
    pub fn take_overdue(&mut self, now: Instant, stopping: bool) -> Option<WaitingPoll> {
        let overdue = |waiting: &mut WaitingPoll| stopping || now - waiting.since >= PATIENCE;
        let found = self.proven.pop_front_if(overdue);
        found.or_else(|| self.unproven.pop_front_if(overdue))
    }

    /// Whether polls have waited for so long that memory is short. Says so once a second at most.
    pub fn reports_shortage(&mut self, now: Instant) -> bool {
        let fronts = [self.proven.front(), self.unproven.front()];
        let is_short = fronts.into_iter().flatten().any(|waiting| now - waiting.since >= SHORTAGE);
        let reports = is_short && self.reported_at.is_none_or(|at| now - at >= SHORTAGE);
        if reports {
            self.reported_at = Some(now);
        }
        reports
    }

    fn queue(&mut self, is_proven: bool) -> &mut VecDeque<WaitingPoll> {
        if is_proven { &mut self.proven } else { &mut self.unproven }
    }
}
