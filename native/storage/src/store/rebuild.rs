//! A list of segments made anew from the files of a directory, on a node that has no peers: what the old list still
//! proves, then files with footers, then the batches of files without. What the manifest vouches for and no file has is
//! lost, and gets a fence.

use std::path::Path;

use ng_io::{Buffer, Environment, IoError};

use super::Vouched;
use super::group::Group;
use super::lost::{Lost, closed, placeholder};
use super::plan::Step;
use super::plant::Planted;
use super::survey::{Expected, Survey, Surveyed};
use super::tail::Tail;
use crate::PAGE;
use crate::footer::{self, Footer};
use crate::home::GroupHome;
use crate::index::Index;
use crate::segments_file::{Fence, SegmentEntry, SegmentsFile, parse_file_name};

/// Bytes at the end of a file among which its footer is looked for: enough for segments of 4 GiB.
const FOOTER_REACH: u64 = 64 * 1024;

/// A file in the directory of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileFound {
    /// Its name.
    pub name: String,
    /// How many bytes it has.
    pub bytes: u64,
}

/// A list as it was made anew.
#[derive(Debug)]
pub(super) struct Rebuilt {
    pub(super) listed: SegmentsFile,
    /// The unsealed segment, if the last one can go on.
    pub(super) tail: Option<Tail>,
    /// Indexes of segments with damage, which cannot be derived across it.
    pub(super) indexes: Vec<(SegmentEntry, Index)>,
}

/// A file that may be a segment.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    base_offset: u64,
    generation: u32,
    bytes: u64,
}

#[derive(Debug)]
enum Content {
    Sealed(SegmentEntry),
    Surveyed(Box<Surveyed>),
}

/// A list being rebuilt. Perform [`Rebuild::step`] and bring what it read to [`Rebuild::take`] until there is none.
#[derive(Debug)]
pub(super) struct Rebuild {
    listed: SegmentsFile,
    group: u64,
    vouched: Vouched,
    candidates: Vec<Candidate>,
    found: Vec<(Candidate, Content)>,
    survey: Option<Box<Survey>>,
    batch_bytes_max: u64,
    planted: Planted,
}

impl Rebuild {
    pub(super) fn new(group: &Group, files: &[FileFound], batch_bytes_max: u64) -> Self {
        let vouched = group.vouched.clone().unwrap_or_else(|| Vouched::new(0, u64::MAX, group.generation));
        let mut listed = group.listed.clone();
        if listed.sequence == 0 {
            // Nothing of the old list is known.
            listed.sequence = vouched.list_sequence;
            listed.purge_generation = vouched.generation.max(group.generation);
        }
        if let Some(first) = listed.segments.first() {
            // All before it was truncated, maybe by an operation that the manifest does not know.
            listed.next_offset = first.base_offset;
        }
        listed.segments.retain(SegmentEntry::is_sealed);
        listed.first_op = 0;
        let behind = listed.segments.last().map_or(0, |last| last.last_offset + 1);
        let known = |candidate: &Candidate| {
            listed.loose.iter().any(|loose| {
                (loose.base_offset, loose.generation) == (candidate.base_offset, candidate.generation)
            })
        };
        let mut candidates: Vec<Candidate> = files
            .iter()
            .filter_map(|file| {
                let (base_offset, generation) = parse_file_name(&file.name)?;
                Some(Candidate { base_offset, generation, bytes: file.bytes })
            })
            .filter(|candidate| candidate.base_offset >= behind && candidate.bytes > 0 && !known(candidate))
            .collect();
        let same = listed.purge_generation == vouched.generation;
        if vouched.last().filter(|_| same).is_none() {
            // The journal has all of it.
            candidates.clear();
        }
        // Taken from the end.
        candidates.sort_unstable_by_key(|candidate| (candidate.base_offset, candidate.generation));
        candidates.reverse();
        let (found, survey) = (Vec::new(), None);
        let planted = group.planted;
        Self { listed, group: group.id, vouched, candidates, found, survey, batch_bytes_max, planted }
    }

    /// What is to be read next.
    pub(super) fn step(&self, home: &GroupHome) -> Option<Step> {
        let candidate = self.candidates.last()?;
        let path = home.segment(&candidate.entry());
        let (offset, length) = match &self.survey {
            Some(survey) => (survey.offset(), survey.length()),
            None => (candidate.end(), usize::try_from(FOOTER_REACH).unwrap_or(PAGE)),
        };
        Some(Step::Read { path, offset, length })
    }

    /// Takes what was read, or hears that it cannot be.
    pub(super) fn take(&mut self, read: Option<Buffer>) {
        let Some(candidate) = self.candidates.last().copied() else { return };
        match &mut self.survey {
            None => match read.and_then(|end| candidate.footer(self.group, &end)) {
                Some(entry) => self.settle(candidate, Content::Sealed(entry)),
                None => self.survey = Some(Box::new(self.survey_of(candidate))),
            },
            Some(survey) => {
                let ended = match &read {
                    Some(piece) => survey.feed(Some(piece), candidate.bytes),
                    None => survey.fail(candidate.bytes),
                };
                if ended && let Some(survey) = self.survey.take() {
                    let surveyed = self.planted.in_survey(survey.finish());
                    self.settle(candidate, Content::Surveyed(Box::new(surveyed)));
                }
            }
        }
    }

    fn settle(&mut self, candidate: Candidate, content: Content) {
        self.candidates.pop();
        self.found.push((candidate, content));
    }

    fn survey_of(&self, candidate: Candidate) -> Survey {
        let mut later = self.candidates.iter().rev().map(|later| later.base_offset);
        let below = later.find(|base_offset| *base_offset > candidate.base_offset);
        let vouched = below.map(|below| below - 1).or(self.last_vouched());
        let expected = Expected { vouched, below: below.unwrap_or(u64::MAX), bytes: None };
        let tail = Tail::new(candidate.base_offset, 0);
        let survey = Survey::new(tail, expected, candidate.generation, self.batch_bytes_max);
        let described = self.vouched.unsealed.as_ref();
        match described.filter(|described| described.base_offset == candidate.base_offset) {
            Some(described) => survey.proven_by(described),
            None => survey,
        }
    }

    fn last_vouched(&self) -> Option<u64> {
        let same = self.listed.purge_generation == self.vouched.generation;
        self.vouched.last().filter(|_| same)
    }

    /// Puts the list together.
    pub(super) fn finish(mut self) -> Rebuilt {
        let last_vouched = self.last_vouched();
        let mut lost = Lost::new(&self.vouched.gaps, last_vouched);
        let mut listed = SegmentsFile { sequence: self.listed.sequence + 1, ..self.listed.clone() };
        let (mut tail, mut indexes) = (None, Vec::new());
        let found = std::mem::take(&mut self.found);
        let count = found.len();
        for (number, (candidate, content)) in best_first(found).into_iter().enumerate() {
            if content.is_foreign() {
                continue;
            }
            let next = self.next_offset(&listed);
            let Some(last_offset) = content.last_offset().filter(|last| *last >= next) else { continue };
            if listed.segments.last().is_some_and(|last| last.last_offset >= candidate.base_offset) {
                continue;
            }
            if !self.fill(&mut listed, &mut lost, next, candidate.base_offset) {
                break;
            }
            match content {
                Content::Sealed(entry) => listed.segments.push(entry),
                Content::Surveyed(surveyed) => {
                    let is_last = number + 1 == count && last_vouched.is_none_or(|last| last <= last_offset);
                    let goes_on = surveyed.lost.is_empty() && surveyed.tail.unsealed().is_some();
                    if is_last && goes_on && candidate.generation == 0 {
                        listed.segments.push(surveyed.tail.entry());
                        tail = Some(surveyed.tail);
                        break;
                    }
                    let described = self.vouched.unsealed.as_ref();
                    let ranges: Vec<(u64, u64)> =
                        surveyed.lost.iter().flat_map(|range| lost.of(*range)).collect();
                    let (entry, index) =
                        closed(self.group, &surveyed.tail, candidate.generation, &ranges, described);
                    listed.fences.extend(ranges.iter().map(|range| fence(*range, &entry)));
                    listed.segments.push(entry);
                    indexes.push((entry, index));
                }
            }
        }
        if let Some(last) = last_vouched
            && tail.is_none()
        {
            let next = self.next_offset(&listed);
            self.fill(&mut listed, &mut lost, next, last.saturating_add(1));
            listed.next_offset = last + 1;
        }
        if !listed.segments.is_empty() {
            listed.next_offset = 0;
        }
        crate::segments_file::merge_fences(&mut listed.fences);
        Rebuilt { listed, tail, indexes }
    }

    /// The first offset that the list does not cover.
    fn next_offset(&self, listed: &SegmentsFile) -> u64 {
        let behind = listed.segments.last().map(|last| last.last_offset.saturating_add(1));
        behind.unwrap_or(self.listed.next_offset).max(self.vouched.first_offset)
    }

    /// Closes the hole from `next` up to the segment that begins at `until`. False if what follows is in the journal: it is
    /// appended again, in order.
    fn fill(&self, listed: &mut SegmentsFile, lost: &mut Lost<'_>, next: u64, until: u64) -> bool {
        if next >= until {
            return true;
        }
        for range in lost.of((next, until - 1)) {
            let timestamp = listed.segments.last().map_or(0, |last| last.max_timestamp);
            let entry = placeholder(range, timestamp, self.vouched.unsealed.as_ref());
            listed.segments.push(entry);
            listed.fences.push(fence(range, &entry));
        }
        !lost.goes_beyond((next, until - 1))
    }
}

impl Content {
    const fn is_foreign(&self) -> bool {
        matches!(self, Self::Surveyed(surveyed) if surveyed.is_foreign)
    }

    fn last_offset(&self) -> Option<u64> {
        match self {
            Self::Sealed(entry) => Some(entry.last_offset),
            Self::Surveyed(surveyed) => surveyed.has_batches.then_some(surveyed.tail.last_offset),
        }
    }
}

/// Of files that begin with the same offset, the one that reaches farthest; of equal ones the oldest.
fn best_first(found: Vec<(Candidate, Content)>) -> Vec<(Candidate, Content)> {
    let mut best: Vec<(Candidate, Content)> = Vec::new();
    for (candidate, content) in found {
        match best.last_mut().filter(|(before, _)| before.base_offset == candidate.base_offset) {
            Some(before) if before.1.last_offset() < content.last_offset() => *before = (candidate, content),
            Some(_) => {}
            None => best.push((candidate, content)),
        }
    }
    best
}

const fn fence((first_offset, last_offset): (u64, u64), entry: &SegmentEntry) -> Fence {
    Fence { first_offset, last_offset, base_offset: entry.base_offset, generation: entry.generation }
}

impl Candidate {
    const fn entry(&self) -> SegmentEntry {
        SegmentEntry {
            base_offset: self.base_offset,
            last_offset: u64::MAX,
            min_timestamp: 0,
            max_timestamp: 0,
            bytes: 0,
            messages: 0,
            generation: self.generation,
            footer: 0,
        }
    }

    /// Where its last pages begin.
    const fn end(&self) -> u64 {
        self.bytes.saturating_sub(FOOTER_REACH) / PAGE as u64 * PAGE as u64
    }

    /// What its footer says of it, if that is whole and at its place.
    fn footer(&self, group: u64, end: &[u8]) -> Option<SegmentEntry> {
        let magic = footer::KIND.magic;
        let pages = (0..end.len()).step_by(PAGE);
        let at = pages.rev().find(|at| end.get(at + 16..at + 24) == Some(magic.as_slice()))?;
        let (footer, checksum) = Footer::decode(&end[at..]).ok()?;
        let stands = footer.bytes.next_multiple_of(PAGE as u64) == self.end() + at as u64;
        let own = (footer.group, footer.base_offset, footer.generation)
            == (group, self.base_offset, self.generation);
        (stands && own).then(|| SegmentEntry {
            base_offset: self.base_offset,
            last_offset: footer.last_offset,
            min_timestamp: footer.min_timestamp,
            max_timestamp: footer.max_timestamp,
            bytes: footer.bytes,
            messages: u32::try_from(footer.messages).unwrap_or(u32::MAX),
            generation: self.generation,
            footer: checksum,
        })
    }
}

/// The files in a directory; none if it is not there. Blocks.
pub fn list_files<E: Environment>(environment: &E, directory: &Path) -> Result<Vec<FileFound>, IoError> {
    let names = match environment.list_directory(directory) {
        Err(error) if error.is_absent() => Vec::new(),
        listed => listed?,
    };
    let mut files = Vec::with_capacity(names.len());
    for name in names {
        match environment.file_length(&directory.join(&name)) {
            Ok(bytes) => files.push(FileFound { name, bytes }),
            Err(error) if error.is_absent() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(files)
}
