use std::error::Error;
use std::fmt;

use ng_wire::replica::{LogOperation, Plane, SUFFIX_MAX, View};

use crate::quorum::{Quorums, REPLICAS_MAX};

/// A moment, in milliseconds on a clock that never goes back.
pub type Ticks = u64;

/// The most operations that may wait for execution; a vote has to list them all.
const BACKLOG_MAX: u64 = 2048;

const _: () = assert!(BACKLOG_MAX < SUFFIX_MAX as u64);

/// A setup whose numbers contradict each other, or a nonce of zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnsoundSetup;

impl fmt::Display for UnsoundSetup {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "the setup of a group contradicts itself")
    }
}

impl Error for UnsoundSetup {}

/// The periods of one group's timers, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// How often a node beats; the shell's period, no timer of a group.
    pub heartbeat: Ticks,
    /// How long a node may be silent, and a replica wait for a view to begin, before it asks for the next one.
    pub suspicion: Ticks,
    /// How often what was not answered is said again.
    pub resend: Ticks,
}

impl Default for Timing {
    fn default() -> Self {
        Self { heartbeat: 100, suspicion: 400, resend: 100 }
    }
}

/// How much of everything one group may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Operations that may be prepared and not committed; beyond, a primary is busy.
    pub pipeline: u64,
    /// Operations that may be prepared and not executed here; beyond, a primary is busy and a backup drops
    /// prepares.
    pub backlog: u64,
    /// Executed operations whose place in the log is kept, so that others can repair from here.
    pub retained: u64,
    /// Operations that may be handed out for execution and not be reported back.
    pub applying: u64,
    /// Places asked for, and prepares sent, in one round of repair.
    pub repair: u64,
    /// Operations that the record of a view may list. Between the state that is kept and the head there must never be more.
    pub listed: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { pipeline: 64, backlog: 256, retained: 64, applying: 64, repair: 32, listed: SUFFIX_MAX as u64 }
    }
}

/// Bounds of the client table of the metadata group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientLimits {
    /// Clients with a session.
    pub clients: u32,
    /// Replies kept for each.
    pub replies: usize,
    /// The longest reply that is kept.
    pub reply_bytes: usize,
}

impl Default for ClientLimits {
    fn default() -> Self {
        Self { clients: 16_384, replies: 5, reply_bytes: 4096 }
    }
}

/// What a replica is told about its group when it opens it; the same on every replica but for its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    /// The group.
    pub group: u64,
    /// The epoch of the configuration that names the replica set.
    pub epoch: u32,
    /// The number of this replica.
    pub replica: u8,
    /// The number of replicas.
    pub replicas: u8,
    /// Bounds.
    pub limits: Limits,
    /// Periods.
    pub timing: Timing,
    /// The client table, if this is the metadata group.
    pub clients: Option<ClientLimits>,
}

impl Setup {
    /// Whether the numbers fit together.
    #[must_use]
    pub const fn is_sound(&self) -> bool {
        self.replicas > 0
            && self.replicas <= REPLICAS_MAX
            && self.replica < self.replicas
            && self.limits.pipeline > 0
            && self.limits.applying > 0
            && self.limits.repair > 0
            && self.limits.pipeline <= self.limits.backlog
            && self.limits.retained <= self.limits.backlog
            && self.limits.backlog <= BACKLOG_MAX
            && self.limits.backlog < self.limits.listed
            && self.limits.listed <= SUFFIX_MAX as u64
            && match self.clients {
                Some(limits) => limits.clients > 0 && limits.replies > 0,
                None => true,
            }
    }

    /// The quorums of the replica set.
    #[must_use]
    pub const fn quorums(&self) -> Quorums {
        Quorums::of(self.replicas)
    }

    /// Who is primary of a view.
    #[must_use]
    pub const fn primary(&self, view: View) -> u8 {
        let turn = view.0 % self.replicas as u64;
        turn.to_le_bytes()[0]
    }

    /// Whether the log of this group may hold the operation.
    #[must_use]
    pub fn takes(&self, operation: u16) -> bool {
        let plane = if self.clients.is_some() { Plane::Metadata } else { Plane::Partition };
        LogOperation::from_code(operation).is_some_and(|known| known.belongs_to(plane))
    }
}
