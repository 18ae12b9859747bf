//! A journal in memory: what is synced stays, the rest may go.

use ng_wire::replica::{PrepareHeader, Standing, Tail};

use super::seed::Seed;
use crate::{ClientTable, Directory, Record, Recovery, Setup};

/// A state machine as of an operation.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub(crate) anchor: PrepareHeader,
    pub(crate) clients: Option<ClientTable>,
    /// One digest for each op executed.
    pub(crate) digests: Vec<u64>,
}

#[derive(Clone, Debug)]
enum Kept {
    Record(Record),
    Damaged(PrepareHeader),
    Lost(Tail),
}

#[derive(Clone, Debug)]
pub(crate) struct Disk {
    kept: Vec<Kept>,
    synced: usize,
    /// Whether it was there when the group was founded.
    founded: bool,
    /// The state machine's own durable state.
    pub(crate) checkpoint: Option<Snapshot>,
}

impl Disk {
    pub(crate) const fn founded() -> Self {
        Self { kept: Vec::new(), synced: 0, founded: true, checkpoint: None }
    }

    pub(crate) fn blank() -> Self {
        Self { founded: false, ..Self::founded() }
    }

    pub(crate) fn append(&mut self, record: Record) {
        self.kept.push(Kept::Record(record));
    }

    pub(crate) fn len(&self) -> usize {
        self.kept.len()
    }

    pub(crate) fn sync(&mut self, len: usize) {
        self.synced = self.synced.max(len);
    }

    /// The power goes: of what was not synced a part is left, and perhaps something torn; whether that is so.
    pub(crate) fn lose_power(&mut self, seed: &mut Seed) -> bool {
        let unsynced = self.kept.len() - self.synced;
        let left = usize::try_from(seed.below(unsynced as u64 + 1)).expect("few records");
        self.kept.truncate(self.synced + left);
        let torn = left < unsynced && seed.chance(50);
        if torn {
            self.kept.push(Kept::Lost(Tail::Unproven));
        }
        self.synced = self.kept.len();
        torn
    }

    /// The process stops; what was not synced is gone, or all there.
    pub(crate) fn stop(&mut self, synced_only: bool) {
        if synced_only {
            self.kept.truncate(self.synced);
        }
        self.synced = self.kept.len();
    }

    /// Damages one synced prepare, chosen by `pick`; with `nameless` even what it was is gone.
    pub(crate) fn damage(&mut self, pick: u64, nameless: bool) -> bool {
        let prepares: Vec<usize> = (0..self.synced)
            .filter(|index| matches!(self.kept[*index], Kept::Record(Record::Prepare(_))))
            .collect();
        let Some(count) = u64::try_from(prepares.len()).ok().filter(|count| *count > 0) else { return false };
        let index = prepares[usize::try_from(pick % count).expect("few records")];
        if let Kept::Record(Record::Prepare(header)) = self.kept[index] {
            self.kept[index] = if nameless { Kept::Lost(Tail::Damaged) } else { Kept::Damaged(header) };
        }
        true
    }

    /// Whether the body of a prepare can be read.
    pub(crate) fn reads(&self, checksum: u128) -> bool {
        let is_it = |kept: &Kept| matches!(kept, Kept::Record(Record::Prepare(header)) if header.checksum == checksum);
        self.kept.iter().rev().any(is_it)
    }

    pub(crate) fn recover(&self, setup: &Setup) -> Directory {
        let mut recovery = Recovery::new(setup, self.founded);
        if let Some(snapshot) = &self.checkpoint {
            recovery.checkpoint(snapshot.anchor, snapshot.clients.clone());
        }
        for kept in &self.kept {
            match kept {
                Kept::Record(record) => recovery.replay(record, Standing::Present),
                Kept::Damaged(header) => recovery.replay(&Record::Prepare(*header), Standing::Damaged),
                Kept::Lost(tail) => recovery.lost(*tail),
            }
        }
        recovery.finish()
    }
}
