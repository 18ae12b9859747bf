//! Bugs that the simulator can plant to verify that its checks detect them. A build without the feature
//! `plants` contains none.

#[cfg(feature = "plants")]
use ng_io::Environment;
use ng_partition::Partition;
use ng_storage::journal::PrepareJournal;
use ng_storage::journal::recovery::{Loss, RecoveredGroup};
use ng_storage::store::SegmentStore;
use ng_vsr::{Directory, Effects, Replica, Setup, Ticks, UnsoundSetup};

#[cfg(feature = "plants")]
use crate::durability::recovery::{LogParts, LogRefusal};
#[cfg(feature = "plants")]
use crate::host::ShardLog;
#[cfg(feature = "plants")]
use crate::machine::MetadataMachine;

/// A bug that can be planted.
#[cfg(feature = "plants")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plant {
    /// A bug of every replica.
    Replica(ng_vsr::Plant),
    /// A bug of every partition.
    Partition(ng_partition::Plant),
    /// A bug of the journal.
    Journal(ng_storage::journal::Plant),
    /// A bug of the segment store.
    Store(ng_storage::store::Plant),
    /// Damage counts as "never written": lost journal records, views whose record has lost its body, and in
    /// votes, prepares whose body is lost.
    TruncateOnDamage,
    /// Unlogged offsets are proposed after an operation that supersedes them.
    StaleOffsets,
    /// An orderly stop does not wait for unlogged offsets.
    HastyStop,
    /// A manifest keeps a group that ends while the manifest is collected.
    KeptEntry,
    /// What is in memory of segments outlives their replacement.
    CachedInputs,
}

/// The bug planted in a shard's log, if any.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Planted {
    #[cfg(feature = "plants")]
    bug: Option<Plant>,
}

#[cfg(feature = "plants")]
impl<E: Environment, M: MetadataMachine> ShardLog<E, M> {
    /// Like [`ShardLog::start`], with a bug from the start.
    pub fn start_planted(
        parts: LogParts<E, M>,
        driver: &E::Driver,
        bug: Option<Plant>,
    ) -> Result<Self, LogRefusal> {
        Self::start_with(parts, driver, Planted { bug })
    }
}

#[cfg(feature = "plants")]
impl Planted {
    pub(crate) fn in_journal(self, journal: &mut PrepareJournal) {
        if let Some(Plant::Journal(bug)) = self.bug {
            journal.plant(bug);
        }
    }

    pub(crate) const fn in_store(self, store: &mut SegmentStore) {
        if let Some(Plant::Store(bug)) = self.bug {
            store.plant(bug);
        }
    }

    pub(crate) fn open_replica(
        self,
        setup: Setup,
        directory: Directory,
        nonce: u64,
        now: Ticks,
        effects: &mut Effects,
    ) -> Result<Replica, UnsoundSetup> {
        let bug = match self.bug {
            Some(Plant::Replica(bug)) => Some(bug),
            Some(Plant::TruncateOnDamage) => Some(ng_vsr::Plant::TruncateOnDamage),
            _ => None,
        };
        Replica::open_planted(setup, directory, nonce, now, bug, effects)
    }

    pub(crate) fn deny_damage(self, found: &mut [RecoveredGroup], losses: &mut Vec<Loss>) {
        if self.bug == Some(Plant::TruncateOnDamage) {
            losses.clear();
            found.iter_mut().for_each(|group| group.damaged.clear());
        }
    }

    pub(crate) fn marks_overtaken_offsets(self) -> bool {
        self.bug != Some(Plant::StaleOffsets)
    }

    pub(crate) fn stop_waits_for_offsets(self) -> bool {
        self.bug != Some(Plant::HastyStop)
    }

    pub(crate) fn leaves_out_ended_groups(self) -> bool {
        self.bug != Some(Plant::KeptEntry)
    }

    pub(crate) fn forgets_replaced(self) -> bool {
        self.bug != Some(Plant::CachedInputs)
    }

    pub(crate) fn in_partition(self, partition: Partition) -> Partition {
        match self.bug {
            Some(Plant::Partition(bug)) => partition.with(bug),
            _ => partition,
        }
    }
}

#[cfg(not(feature = "plants"))]
#[allow(clippy::unused_self, reason = "the shape of the build that can plant bugs")]
impl Planted {
    pub(crate) const fn in_journal(self, _journal: &mut PrepareJournal) {}

    pub(crate) const fn in_store(self, _store: &mut SegmentStore) {}

    pub(crate) fn open_replica(
        self,
        setup: Setup,
        directory: Directory,
        nonce: u64,
        now: Ticks,
        effects: &mut Effects,
    ) -> Result<Replica, UnsoundSetup> {
        Replica::open(setup, directory, nonce, now, effects)
    }

    pub(crate) const fn deny_damage(self, _found: &mut [RecoveredGroup], _losses: &mut Vec<Loss>) {}

    pub(crate) const fn marks_overtaken_offsets(self) -> bool {
        true
    }

    pub(crate) const fn stop_waits_for_offsets(self) -> bool {
        true
    }

    pub(crate) const fn leaves_out_ended_groups(self) -> bool {
        true
    }

    pub(crate) const fn forgets_replaced(self) -> bool {
        true
    }

    pub(crate) const fn in_partition(self, partition: Partition) -> Partition {
        partition
    }
}
