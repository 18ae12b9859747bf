//! Verifying segments behind the start: prefixes that a start trusted, and segments in which a poll met damage. What is lost
//! gets a fence, and a segment that was appended to is closed: what follows goes to a new one.

use std::time::Duration;

use ng_io::{Buffer, Instant};

use super::group::{Group, Running};
use super::index_cache::IndexKey;
use super::lost::{closed, placeholder};
use super::plan::{Plan, PlanFault, PlanResult, Step, replace};
use super::survey::{Expected, Survey, Surveyed};
use super::tail::Tail;
use super::{Effect, SegmentStore, StoreDamage, StoreFault};
use crate::index::Index;
use crate::segments_file::{Fence, SegmentEntry, SegmentsFile, merge_fences};

/// Delay after a group was opened until what was trusted of it is verified.
const DELAY: Duration = Duration::from_secs(1);

/// Pause between two pieces of 1 MiB that nobody waits for: 50 MB/s of each shard.
const PAUSE: Duration = Duration::from_millis(20);

/// A segment being verified.
#[derive(Debug)]
pub(super) struct Verification {
    entry: SegmentEntry,
    survey: Survey,
    /// Up to where the piece under way counts.
    end: u64,
}

/// Damage that the list does not name yet.
#[derive(Debug)]
pub(super) struct Closing {
    /// The segment as the list names it from now on.
    entry: SegmentEntry,
    /// Its index, which cannot be derived across damage.
    index: Option<Index>,
    lost: Vec<(u64, u64)>,
}

impl SegmentStore {
    /// A poll met damage at an offset of a group: the segment is verified, and what is lost gets a fence.
    pub fn distrust(&mut self, group: u64, offset: u64, effects: &mut Vec<Effect>) {
        if self.owner.has_peers {
            return;
        }
        if let Some(found) = self.groups.get_mut(&group) {
            found.distrust(offset);
            self.enqueue(group);
            self.pump(effects);
        }
    }

    /// Whether all of an open group was verified, and all damage is named.
    #[must_use]
    pub fn is_verified(&self, group: u64) -> bool {
        self.groups.get(&group).is_some_and(Group::is_verified)
    }

    /// Verifies one piece of one group after the other.
    pub(super) fn verify_next(&mut self, now: Instant) {
        if self.verify_at.is_none_or(|at| at > now) {
            return;
        }
        while let Some(group) = self.unverified.front().copied() {
            if let Some(found) = self.groups.get_mut(&group).filter(|found| found.is_unverified()) {
                found.doubt.verify_now = true;
                self.enqueue(group);
                break;
            }
            self.unverified.pop_front();
        }
        self.verify_at = (!self.unverified.is_empty()).then(|| now + PAUSE);
    }

    /// A group was opened, and a part of it was trusted.
    pub(super) fn verify_later(&mut self, group: u64, now: Instant) {
        if self.groups.get(&group).is_some_and(Group::is_unverified) {
            self.unverified.push_back(group);
            self.verify_at = self.verify_at.or(Some(now + DELAY));
        }
    }
}

impl Group {
    fn is_verified(&self) -> bool {
        let idle = !matches!(self.running, Some(Running::Verifying(_) | Running::Closing { .. }));
        idle && !self.is_unverified() && self.doubt.closing.is_none()
    }

    fn is_unverified(&self) -> bool {
        self.tail.as_ref().is_some_and(|tail| !tail.surveyed) || self.doubt.verification.is_some()
    }

    /// Whether a piece is to be verified now: somebody waits for the index, or for the footer, or its turn has come.
    pub(super) fn wants_verification(&self) -> bool {
        self.is_unverified()
            && (self.doubt.distrusted || self.doubt.verify_now || self.reads.waits_for_index())
    }

    fn distrust(&mut self, offset: u64) {
        let named =
            self.listed.fences.iter().any(|fence| (fence.first_offset..=fence.last_offset).contains(&offset));
        if named || self.doubt.closing.is_some() || self.is_purging() {
            return;
        }
        if self.doubt.verification.is_some() {
            // That may be of another segment: the next poll that meets the damage comes back.
            self.doubt.distrusted = true;
            return;
        }
        let place = self.listed.segments.partition_point(|entry| entry.last_offset < offset);
        let Some(entry) = self.listed.segments.get(place).copied() else { return };
        self.doubt.distrusted = true;
        if entry.is_sealed() {
            self.begin_verification(entry, Expected::of(&entry));
        } else if let Some(tail) = &mut self.tail {
            tail.surveyed = false;
        }
    }

    fn begin_verification(&mut self, entry: SegmentEntry, expected: Expected) {
        let tail = Tail::new(entry.base_offset, 0);
        let survey = Survey::new(tail, expected, entry.generation, self.batch_bytes_max);
        self.doubt.verification = Some(Box::new(Verification { entry, survey, end: 0 }));
    }

    /// The plan that reads the next piece.
    pub(super) fn plan_verification(&mut self) -> Option<(Running, Plan)> {
        self.doubt.verify_now = false;
        if self.doubt.verification.is_none() {
            let tail = self.tail.as_ref()?;
            let expected = Expected { vouched: Some(tail.last_offset), below: u64::MAX, bytes: None };
            let entry = tail.entry();
            self.begin_verification(entry, expected);
        }
        let mut found = self.doubt.verification.take()?;
        found.end = found.entry.bytes;
        if !found.entry.is_sealed() {
            let tail = self.tail.as_ref()?;
            found.end = tail.bytes;
            found.survey.expect(tail.last_offset);
        }
        let path = self.home.segment(&found.entry);
        let step = Step::Read { path, offset: found.survey.offset(), length: found.survey.length() };
        Some((Running::Verifying(found), vec![step]))
    }

    /// Takes a piece, or why there is none. The damage, if that is for other nodes to repair.
    pub(super) fn verified(
        &mut self,
        mut found: Box<Verification>,
        result: PlanResult,
        has_peers: bool,
    ) -> Result<(), StoreDamage> {
        let path = self.home.segment(&found.entry);
        let is_sealed = found.entry.is_sealed();
        let stays = if is_sealed {
            self.listed.segments.contains(&found.entry)
        } else {
            self.tail
                .as_ref()
                .is_some_and(|tail| tail.base_offset == found.entry.base_offset && !tail.surveyed)
        };
        if !stays {
            return Ok(());
        }
        let end = found.end;
        let piece: Result<Option<Buffer>, PlanFault> = result.map(|read| read.into_iter().next().flatten());
        let is_missing = matches!(piece, Ok(None));
        let ended = match piece {
            Ok(Some(piece)) => found.survey.feed(Some(&piece), end),
            Ok(None) => true,
            Err(_) => found.survey.fail(end),
        };
        if !ended {
            self.doubt.verification = Some(found);
            return Ok(());
        }
        self.doubt.distrusted = false;
        if found.survey.is_whole(end) {
            let surveyed = found.survey.finish();
            if let Some(tail) = self.tail.as_mut().filter(|_| !is_sealed) {
                tail.take_survey(surveyed.tail);
            }
            return Ok(());
        }
        if has_peers {
            return Err(StoreDamage { path, fault: StoreFault::Lost });
        }
        if is_missing {
            self.close_missing_file(&found.entry);
        } else {
            self.close(found.entry, self.planted.in_survey(found.survey.finish()));
        }
        Ok(())
    }

    /// Whether a fence covers all of a segment.
    pub(super) fn is_lost(&self, entry: &SegmentEntry) -> bool {
        let covers =
            |fence: &Fence| fence.first_offset <= entry.base_offset && fence.last_offset >= entry.last_offset;
        self.listed.fences.iter().any(covers)
    }

    /// A segment was read to its end, and does not hold all of its messages.
    fn close(&mut self, entry: SegmentEntry, surveyed: Surveyed) {
        let described = self.tail.as_ref().and_then(Tail::unsealed);
        let lost = surveyed.lost;
        self.doubt.closing = Some(Box::new(if entry.is_sealed() {
            let index = surveyed.has_batches.then(|| Index {
                group: self.id,
                base_offset: entry.base_offset,
                segment_bytes: entry.bytes,
                generation: entry.generation,
                first_checksum: surveyed.tail.first_checksum(),
                entries: surveyed.tail.places().to_vec(),
            });
            Closing { entry, index, lost }
        } else if surveyed.has_batches {
            let (entry, index) = closed(self.id, &surveyed.tail, 0, &lost, described.as_ref());
            Closing { entry, index: Some(index), lost }
        } else {
            self.closing_missing()
        }));
    }

    /// The file of a segment is not there, or is another one.
    pub(super) fn close_missing_file(&mut self, entry: &SegmentEntry) {
        if self.is_lost(entry) {
            return;
        }
        let closing = if entry.is_sealed() {
            Closing { entry: *entry, index: None, lost: vec![(entry.base_offset, entry.last_offset)] }
        } else {
            self.closing_missing()
        };
        self.doubt.closing = Some(Box::new(closing));
    }

    /// The file of the segment that is appended to is not there any more, or the directory is not.
    pub(super) fn close_missing(&mut self) {
        self.present = false;
        if self.tail.is_some() {
            self.doubt.closing = Some(Box::new(self.closing_missing()));
        }
    }

    fn closing_missing(&self) -> Closing {
        let described = self.tail.as_ref().and_then(Tail::unsealed);
        let range = self.tail.as_ref().map_or((0, 0), |tail| (tail.base_offset, tail.last_offset));
        Closing { entry: placeholder(range, 0, described.as_ref()), index: None, lost: vec![range] }
    }

    /// The plan that names damage in the list.
    pub(super) fn plan_closing(&mut self) -> Option<(Running, Plan)> {
        let closing = self.doubt.closing.take()?;
        let mut listed = self.list_next();
        let place = listed.segments.iter().position(|entry| entry.base_offset == closing.entry.base_offset);
        listed.segments[place?] = closing.entry;
        if self.listed.segments.last().is_some_and(|entry| !entry.is_sealed()) && !is_unsealed(&listed) {
            listed.first_op = 0;
        }
        listed.fences.extend(closing.fences());
        merge_fences(&mut listed.fences);
        let mut plan = Plan::new();
        self.make_directory(&mut plan);
        if let Some(index) = &closing.index {
            replace(&mut plan, self.home.index(&closing.entry), index.encode());
        }
        self.put_list(&mut plan, &listed);
        Some((Running::Closing { closing, listed }, plan))
    }

    /// The list names the damage.
    pub(super) fn closed(&mut self, listed: SegmentsFile) {
        if !is_unsealed(&listed) {
            self.tail = None;
            self.rolls = false;
        }
        self.present = true;
        self.set_list(listed);
    }
}

impl Closing {
    /// The segment, whose index in memory may lead into the damage.
    pub(super) const fn key(&self, group: u64) -> IndexKey {
        IndexKey { group, base_offset: self.entry.base_offset, generation: self.entry.generation }
    }

    fn fences(&self) -> impl Iterator<Item = Fence> + '_ {
        let SegmentEntry { base_offset, generation, .. } = self.entry;
        self.lost.iter().map(move |(first, last)| Fence {
            first_offset: *first,
            last_offset: *last,
            base_offset,
            generation,
        })
    }
}

fn is_unsealed(listed: &SegmentsFile) -> bool {
    listed.segments.last().is_some_and(|entry| !entry.is_sealed())
}
