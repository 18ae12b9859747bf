//! What a world is like.

use super::seed::Seed;
use crate::{ClientLimits, Limits, Setup, Ticks, Timing};

/// How bad the world is; drawn from the seed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weather {
    pub(crate) loss: u64,
    pub(crate) duplication: u64,
    pub(crate) delay: Ticks,
    pub(crate) sync: Ticks,
    pub(crate) execution: Ticks,
    pub(crate) between_faults: Ticks,
    /// The one replica whose disk may rot or be wiped.
    pub(crate) bad_disk: Option<u8>,
    pub(crate) wipes: bool,
}

impl Weather {
    pub(crate) fn draw(replicas: u8, seed: &mut Seed) -> Self {
        Self {
            loss: seed.below(20),
            duplication: seed.below(30),
            delay: seed.between(2, 40),
            sync: seed.between(1, 30),
            execution: seed.below(20),
            between_faults: seed.between(50, 500),
            bad_disk: (replicas > 2 && seed.chance(60)).then(|| seed.replica(replicas)),
            wipes: seed.chance(40),
        }
    }
}

/// A group whose bounds are small enough to be met, without the number of the replica.
pub(crate) fn setup(replicas: u8, metadata: bool, clients: u64, seed: &mut Seed) -> Setup {
    let limits = Limits {
        pipeline: seed.between(1, 8),
        backlog: seed.between(8, 16),
        retained: seed.between(1, 8),
        applying: seed.between(1, 4),
        repair: seed.between(1, 8),
        ..Limits::default()
    };
    let clients = u32::try_from(clients).expect("few clients");
    let table = ClientLimits { clients, replies: 5, reply_bytes: 64 };
    let timing = Timing { heartbeat: 50, suspicion: 200, resend: 50 };
    Setup { group: 7, epoch: 1, replica: 0, replicas, limits, timing, clients: metadata.then_some(table) }
}
