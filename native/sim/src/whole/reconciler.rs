//! What the shards are ordered to do with partitions, as the reconciler of `server_ng` decides it: each decision compares a
//! group as it should be with the group as it is.

use std::collections::{BTreeMap, BTreeSet};

use ng_replication::owner::owner;
use ng_wire::primitive::{Malformed, Reader, put_u8, put_u64};
use ng_wire::table::reconcile::ReconcileKind;

/// A group that failed this often in a row is not waited for any more.
const ATTEMPTS_WAITED_FOR: u32 = 6;

/// Nanoseconds until an attempt that failed is repeated at first, and the longest pause.
const RETRY: u64 = 50_000_000;
const RETRY_MAX: u64 = 10_000_000_000;

/// How far the removal of a tombstone's files is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Removal {
    ToStart,
    Removing,
    Removed,
}

/// What is known of a group.
#[derive(Clone, Debug, Default)]
struct Group {
    /// The purge generation of the partition that has it.
    wanted: Option<u64>,
    owned: bool,
    /// The purge generation that its owner has reached, as far as it said so in this life.
    reached: u64,
    opening: bool,
    /// Shards that route to it, and shards that were asked to and perhaps do.
    routed: BTreeSet<u16>,
    routing: BTreeSet<u16>,
    tombstone: Option<Removal>,
    /// Failures in a row, and until when it is left alone.
    failures: u32,
    due: u64,
    /// The revision that it is not settled since.
    unsettled: Option<u64>,
}

impl Group {
    fn reaching(&self) -> impl Iterator<Item = u16> + '_ {
        self.routed.union(&self.routing).copied()
    }

    fn is_settled(&self, shards: u16) -> bool {
        let Some(generation) = self.wanted else {
            return !self.owned && !self.opening && self.reaching().next().is_none();
        };
        let is_reached = self.owned && self.reached >= generation;
        self.tombstone.is_some() || (is_reached && self.routed.len() == usize::from(shards))
    }

    /// Everything that may be done now, by shard.
    fn steps(&self, home: u16, shards: u16) -> Vec<(u16, ReconcileKind)> {
        if let Some(generation) = self.wanted {
            if self.tombstone.is_some() {
                return Vec::new();
            }
            if !self.owned {
                return vec![(home, ReconcileKind::InsertOwned)];
            }
            let purge = (self.reached < generation).then_some((home, ReconcileKind::Purge));
            let missing = (0..shards).filter(|shard| !self.routed.contains(shard));
            let missing = missing.map(|shard| (shard, ReconcileKind::InsertRouted));
            return purge.into_iter().chain(missing).collect();
        }
        let others: Vec<_> = self
            .reaching()
            .filter(|shard| *shard != home)
            .map(|shard| (shard, ReconcileKind::RemoveRouted))
            .collect();
        if !others.is_empty() {
            return others;
        }
        let is_there = self.owned || self.opening || self.reaching().next().is_some();
        match self.tombstone {
            Some(Removal::Removed) => vec![(home, ReconcileKind::ConfirmRemove)],
            Some(Removal::ToStart) => vec![(home, ReconcileKind::RemoveRouted)],
            None | Some(Removal::Removing) if is_there => vec![(home, ReconcileKind::RemoveRouted)],
            None | Some(Removal::Removing) => Vec::new(),
        }
    }
}

/// What one shard is asked in one pass.
#[derive(Debug)]
struct Pass {
    number: u64,
    /// Purge generations, by kind and group.
    unanswered: BTreeMap<(u8, u64), u64>,
}

/// Orders for a shard.
#[derive(Debug)]
pub(super) struct Orders {
    pub(super) shard: u16,
    pub(super) pass: u64,
    pub(super) body: Vec<u8>,
}

#[derive(Debug)]
pub(super) struct Reconciler {
    shards: u16,
    groups: BTreeMap<u64, Group>,
    passes: Vec<Option<Pass>>,
    next_pass: u64,
    /// Shards that have not said what they hold.
    silent: BTreeSet<u16>,
    revision: u64,
    loaded: bool,
    told: u64,
    /// Groups whose files were said to be gone, in this life or in an earlier one.
    pub(super) removed: BTreeSet<u64>,
}

impl Reconciler {
    pub(super) fn new(shards: u16) -> Self {
        Self {
            shards,
            groups: BTreeMap::new(),
            passes: (0..shards).map(|_| None).collect(),
            next_pass: 1,
            silent: (0..shards).collect(),
            revision: 0,
            loaded: false,
            told: 0,
            removed: BTreeSet::new(),
        }
    }

    /// A piece of what a shard holds at its start.
    pub(super) fn observe(&mut self, shard: u16, body: &[u8]) -> Result<(), String> {
        let mut reader = Reader::new(body);
        let mut read = || {
            let last = reader.u8()? == 1;
            let mut held = Vec::new();
            while reader.remaining() > 0 {
                held.push((reader.u64()?, reader.u8()?));
            }
            Ok((last, held))
        };
        let (last, held) = read().map_err(|fault: Malformed| format!("what a shard holds: {fault:?}"))?;
        for (group, state) in held {
            if owner(group, self.shards) != shard {
                return Err(format!("shard {shard} holds group {group:x}, which is not its own"));
            }
            if state == 1 && self.removed.contains(&group) {
                return Err(format!("group {group:x} was removed, and is there again"));
            }
            let known = self.groups.entry(group).or_default();
            match state {
                1 => known.owned = true,
                _ => known.tombstone = Some(Removal::ToStart),
            }
        }
        if last {
            self.silent.remove(&shard);
        }
        Ok(())
    }

    /// Everything that was there at the start is known.
    pub(super) fn load(&mut self, groups: impl Iterator<Item = (u64, u64)>, revision: u64) {
        self.loaded = true;
        self.revision = revision;
        for (group, generation) in groups {
            self.groups.entry(group).or_default().wanted = Some(generation);
        }
        for group in self.groups.values_mut() {
            group.unsettled = Some(1);
        }
    }

    /// Partitions came, went or were purged with a revision.
    pub(super) fn change(&mut self, touched: &[u64], generations: &BTreeMap<u64, u64>, revision: u64) {
        self.revision = self.revision.max(revision);
        for group in touched {
            let known = self.groups.entry(*group).or_default();
            known.wanted = generations.get(group).copied();
            known.unsettled.get_or_insert(revision);
        }
    }

    /// What became of orders, or of files whose removal was begun.
    pub(super) fn answer(&mut self, shard: u16, pass: u64, body: &[u8], now: u64) -> Result<(), String> {
        let mut reader = Reader::new(body);
        let bad = |fault: Malformed| format!("fates that cannot be read: {fault:?}");
        while reader.remaining() > 0 {
            let kind = reader.u8().map_err(bad)?;
            let group = reader.u64().map_err(bad)?;
            let fate = reader.u8().map_err(bad)?;
            let running = self.passes[usize::from(shard)].as_mut().filter(|running| running.number == pass);
            let asked = running.and_then(|running| running.unanswered.remove(&(kind, group)));
            self.take(shard, kind, group, fate, asked, now);
        }
        let running = &mut self.passes[usize::from(shard)];
        if running.as_ref().is_some_and(|running| running.unanswered.is_empty()) {
            *running = None;
        }
        Ok(())
    }

    fn take(&mut self, shard: u16, kind: u8, number: u64, fate: u8, asked: Option<u64>, now: u64) {
        const DONE: u8 = 0;
        const REMOVED: u8 = 1;
        const UNKNOWN: u8 = 4;
        let home = owner(number, self.shards);
        let group = self.groups.entry(number).or_default();
        let is_removal = kind == ReconcileKind::RemoveRouted.code();
        if is_removal && shard == home && fate == REMOVED {
            self.removed.insert(number);
            if asked.is_some() || group.tombstone.is_some() || group.owned || group.opening {
                group.routed.remove(&home);
                group.routing.remove(&home);
                (group.owned, group.opening) = (false, false);
                group.tombstone = Some(Removal::Removed);
            }
            return;
        }
        let Some(generation) = asked else {
            if is_removal && shard == home && group.tombstone == Some(Removal::Removing) && fate != DONE {
                group.tombstone = Some(Removal::ToStart);
                Self::fail(group, now);
            }
            return;
        };
        match (fate, kind) {
            (DONE | REMOVED, kind) if kind == ReconcileKind::InsertOwned.code() => {
                (group.owned, group.opening) = (true, false);
            }
            (DONE | REMOVED, kind) if kind == ReconcileKind::InsertRouted.code() => {
                group.routing.remove(&shard);
                group.routed.insert(shard);
            }
            (DONE | REMOVED, _) if is_removal => {
                group.routed.remove(&shard);
                group.routing.remove(&shard);
                if shard == home {
                    (group.owned, group.opening) = (false, false);
                    group.tombstone.get_or_insert(Removal::Removing);
                }
            }
            (DONE | REMOVED | UNKNOWN, kind) if kind == ReconcileKind::ConfirmRemove.code() => {
                group.tombstone = None;
            }
            (DONE | REMOVED, kind) if kind == ReconcileKind::Purge.code() => {
                group.reached = group.reached.max(generation);
            }
            (UNKNOWN, kind) if kind == ReconcileKind::Purge.code() => {
                (group.owned, group.opening) = (false, false);
                Self::fail(group, now);
            }
            _ => Self::fail(group, now),
        }
    }

    fn fail(group: &mut Group, now: u64) {
        group.failures += 1;
        group.due = now + (RETRY << (group.failures - 1).min(20)).min(RETRY_MAX);
    }

    /// What each shard is asked now.
    pub(super) fn plan(&mut self, now: u64) -> Vec<Orders> {
        if !self.loaded || !self.silent.is_empty() {
            return Vec::new();
        }
        let mut drafts: BTreeMap<u16, BTreeMap<(u8, u64), u64>> = BTreeMap::new();
        for (number, group) in &mut self.groups {
            if group.is_settled(self.shards) {
                group.unsettled = None;
                if group.tombstone.is_none() {
                    group.failures = 0;
                }
            } else {
                group.unsettled.get_or_insert(self.revision);
            }
            if group.due > now {
                continue;
            }
            for (shard, kind) in group.steps(owner(*number, self.shards), self.shards) {
                if self.passes[usize::from(shard)].is_some() {
                    continue;
                }
                let generation = group.wanted.unwrap_or(0);
                drafts.entry(shard).or_default().insert((kind.code(), *number), generation);
                match kind {
                    ReconcileKind::InsertOwned => group.opening = true,
                    ReconcileKind::InsertRouted => {
                        group.routing.insert(shard);
                    }
                    ReconcileKind::RemoveRouted | ReconcileKind::ConfirmRemove | ReconcileKind::Purge => {}
                }
            }
        }
        self.groups.retain(|_, group| {
            group.wanted.is_some()
                || group.tombstone.is_some()
                || !group.is_settled(self.shards)
                || group.opening
        });
        drafts.into_iter().map(|(shard, orders)| self.begin(shard, orders)).collect()
    }

    fn begin(&mut self, shard: u16, orders: BTreeMap<(u8, u64), u64>) -> Orders {
        let mut body = Vec::new();
        for ((kind, group), generation) in &orders {
            put_u8(&mut body, *kind);
            put_u64(&mut body, *group);
            put_u64(&mut body, *generation);
        }
        let pass = self.next_pass;
        self.next_pass += 1;
        self.passes[usize::from(shard)] = Some(Pass { number: pass, unanswered: orders });
        Orders { shard, pass, body }
    }

    /// Whether everything that was found at the start is as it should be, but for what fails again and again.
    pub(super) fn is_converged(&self) -> bool {
        self.loaded && self.silent.is_empty() && self.converged_revision() >= self.revision
    }

    fn converged_revision(&self) -> u64 {
        let waited = self.groups.values().filter(|group| group.failures < ATTEMPTS_WAITED_FOR);
        let first = waited.filter_map(|group| group.unsettled).min();
        first.map_or(self.revision, |first| first.saturating_sub(1))
    }

    /// The revision that every shard stands at now, if that has not been said.
    pub(super) fn news(&mut self) -> Option<u64> {
        let revision = self.converged_revision();
        if !self.loaded || !self.silent.is_empty() || revision <= self.told {
            return None;
        }
        self.told = revision;
        Some(revision)
    }
}
