//! Lack of disk space as operators see it: events at its begin and end and while sends are refused, and
//! metrics.

use std::sync::Arc;
use std::time::Duration;

use ng_io::{Environment, Instant, IoError};
use ng_replication::DiskFigures;
use ng_wire::table::event::Event;
use ng_wire::table::metric::{Cell, Metric};

use super::Shard;
use crate::trash::{TrashFigures, TrashLink};

/// Minimum time between two events of one kind. Producers retry constantly, so only the counter has every
/// refused send.
const TOLD_EVERY: Duration = Duration::from_secs(60);

/// State of a shard's lack of space, as reported.
#[derive(Debug, Default)]
pub(super) struct Shortage {
    /// Time since which segments wait for space.
    since: Option<Instant>,
    /// Sends refused since then.
    refused: u64,
    refusal_told: Option<Instant>,
    removal_told: Option<Instant>,
    removals_failing: bool,
    journal_stuck: bool,
    /// Link to the thread that empties the trash.
    pub(super) trash: Arc<TrashLink>,
    /// Figures of the trash at the last look.
    trash_seen: TrashFigures,
}

/// A change of state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Began,
    /// The shortage ended after `millis` milliseconds and `sends` refused sends.
    Ended {
        sends: u64,
        millis: u64,
    },
}

impl Shortage {
    pub(super) fn new(trash: Arc<TrashLink>) -> Self {
        Self { trash, ..Self::default() }
    }

    /// Updates the state with the number of groups that wait for space.
    fn look(&mut self, waiting: usize, now: Instant) -> Option<Change> {
        match (self.since, waiting > 0) {
            (None, true) => {
                *self = Self { since: Some(now), refused: 0, refusal_told: None, ..std::mem::take(self) };
                Some(Change::Began)
            }
            (Some(since), false) => {
                self.since = None;
                let millis = u64::try_from((now - since).as_millis()).unwrap_or(u64::MAX);
                Some(Change::Ended { sends: std::mem::take(&mut self.refused), millis })
            }
            _ => None,
        }
    }

    /// Counts a refused send. Returns true if an event is due, and `None` if space is not short, because the
    /// send was then refused for another reason.
    fn refuse(&mut self, now: Instant) -> Option<bool> {
        self.since?;
        self.refused += 1;
        Some(is_due(&mut self.refusal_told, now))
    }

    /// Sends are refused for lack of space.
    const fn refuses(&self) -> bool {
        self.refused > 0
    }
}

fn is_due(told: &mut Option<Instant>, now: Instant) -> bool {
    let due = told.is_none_or(|told| now - told >= TOLD_EVERY);
    if due {
        *told = Some(now);
    }
    due
}

impl<E: Environment> Shard<E> {
    /// Reports changes since the last turn.
    pub(super) fn tend_space(&mut self) {
        let disk = self.log.disk_figures();
        match self.shortage.look(disk.waits_for_space, self.handler.now) {
            Some(Change::Began) => {
                self.shortage.trash.shard_is_short(true);
                self.handler
                    .tell(Event::SpaceShort, [disk.waits_for_space as u64, disk.unflushed_bytes as u64]);
            }
            Some(Change::Ended { sends, millis }) => {
                self.shortage.trash.shard_is_short(false);
                self.handler.tell(Event::SpaceRecovered, [millis, sends]);
            }
            None => {}
        }
        self.tend_journal(&disk);
        let failing = disk.waits_for_removals > 0;
        if !failing && std::mem::replace(&mut self.shortage.removals_failing, failing) {
            self.handler.tell(Event::RemovalsRecovered, [0, 0]);
        }
        self.shortage.removals_failing = failing;
        if self.first.is_some() {
            self.tend_trash();
        }
    }

    /// Reports a stuck journal. While it is stuck, it acknowledges nothing, and a start waits for it.
    fn tend_journal(&mut self, disk: &DiskFigures) {
        let stuck = disk.journal_lack.is_some();
        if std::mem::replace(&mut self.shortage.journal_stuck, stuck) == stuck {
            return;
        }
        self.shortage.trash.shard_is_short(stuck);
        match disk.journal_lack {
            Some(error) => {
                let errno = error.errno().unsigned_abs().into();
                self.handler.tell(Event::JournalStuck, [disk.journal_file_bytes, errno]);
            }
            None => self.handler.tell(Event::JournalFreed, [disk.journal_files.into(), 0]),
        }
    }

    /// Reports for the thread that empties the trash. Shard 0 does it, because that thread has no event ring.
    fn tend_trash(&mut self) {
        let figures = self.shortage.trash.figures();
        let before = std::mem::replace(&mut self.shortage.trash_seen, figures);
        if before.failing == 0 && figures.failing > 0 {
            self.handler.tell(Event::TrashFailed, [figures.errno, figures.bytes]);
        } else if before.failing > 0 && figures.failing == 0 {
            self.handler.tell(Event::TrashRecovered, [figures.bytes, 0]);
        }
    }

    /// Counts a refused send.
    pub(super) fn send_refused(&mut self) {
        let Some(is_told) = self.shortage.refuse(self.handler.now) else { return };
        self.handler.metrics.add(const { Cell::of(Metric::SendsRefusedForSpace) }, 1);
        if is_told {
            let waiting = self.log.disk_figures().waits_for_space as u64;
            self.handler.tell(Event::SendsRefused, [self.shortage.refused, waiting]);
        }
    }

    /// Reports files of a group that could not be removed.
    pub(super) fn removal_failed(&mut self, group: u64, error: IoError) {
        self.report_failed_removal(group);
        if is_due(&mut self.shortage.removal_told, self.handler.now) {
            self.handler.tell(Event::RemovalFailed, [group, error.errno().unsigned_abs().into()]);
        }
    }

    /// Publishes the metrics of space.
    pub(super) fn publish_space(&self) {
        let disk = self.log.disk_figures();
        let lacking = disk.journal_lack.map_or(0, |_| disk.journal_file_bytes);
        let trash = if self.first.is_some() { self.shortage.trash_seen } else { TrashFigures::default() };
        for (cell, value) in [
            (const { Cell::of(Metric::TrashBytes) }, trash.bytes),
            (const { Cell::of(Metric::PartitionsWaitingForSpace) }, disk.waits_for_space as u64),
            (const { Cell::of(Metric::RefusingSends) }, self.shortage.refuses().into()),
            (const { Cell::of(Metric::JournalBytesLacking) }, lacking),
            (const { Cell::of(Metric::RemovalsFailing) }, disk.waits_for_removals as u64 + trash.failing),
        ] {
            self.handler.metrics.set(cell, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Instant {
        Instant::from_nanos(1 + seconds * 1_000_000_000)
    }

    #[test]
    fn a_shortage_begins_once_and_ends_with_its_refused_sends() {
        let mut shortage = Shortage::default();
        assert_eq!((shortage.look(0, at(0)), shortage.look(2, at(1))), (None, Some(Change::Began)));
        assert_eq!(shortage.look(9, at(2)), None);
        assert_eq!((shortage.refuse(at(3)), shortage.refuses()), (Some(true), true));
        assert_eq!(shortage.look(0, at(6)), Some(Change::Ended { sends: 1, millis: 5_000 }));
        assert!(!shortage.refuses());
    }

    #[test]
    fn refused_sends_are_reported_once_a_minute() {
        let mut shortage = Shortage::default();
        shortage.look(1, at(0));
        let reported: Vec<u64> =
            (0..200).filter(|second| shortage.refuse(at(*second)) == Some(true)).collect();
        assert_eq!(reported, [0, 60, 120, 180]);
        assert_eq!(shortage.refused, 200);
    }

    #[test]
    fn a_refused_send_without_a_shortage_is_not_counted() {
        let mut shortage = Shortage::default();
        assert_eq!(shortage.refuse(at(1)), None);
        shortage.look(1, at(2));
        shortage.look(0, at(3));
        assert_eq!((shortage.refuse(at(4)), shortage.refuses()), (None, false));
    }
}
