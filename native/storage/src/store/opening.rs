//! Opening a group: SEGMENTS says which segments there are. Of the unsealed one the prefix that the manifest describes is trusted,
//! and what follows is read to its end. What is there beyond what the manifest vouches for may be in the page cache alone, left by
//! a process that was killed: it is synced first. Where files do not hold what is vouched for, and no other node has
//! it, the list is rebuilt from the files, with a fence around what is lost.

use ng_io::Buffer;
use ng_wire::batch::BatchHeader;

use super::group::{Group, Phase, Running};
use super::plan::{Plan, PlanFault, PlanResult, Step};
use super::rebuild::{FileFound, Rebuild};
use super::scan::{PIECE, Scan};
use super::tail::Tail;
use super::{Effect, StoreDamage, StoreFault, Vouched};
use crate::PAGE;
use crate::manifest::UnsealedSegment;
use crate::segments_file::{self, SegmentsFile};

/// How often a group is opened before what cannot be read counts as damaged: some disks fail a read once.
const ATTEMPTS: u8 = 5;

/// Bytes read from the page in which a trusted prefix ends: after an orderly stop nothing follows it.
const AFTER_PREFIX: usize = 64 * 1024;

/// What the plan under way is for.
#[derive(Debug)]
pub(super) enum Opening {
    /// Reads SEGMENTS.
    List,
    /// Reads the last batch of the prefix that the manifest describes, and what follows.
    Prefix(UnsealedSegment),
    /// Reads the unsealed segment.
    Scan(Box<Scan>),
    /// Waits for the names in the directory.
    Names,
    /// Reads files to rebuild the list.
    Rebuild(Box<Rebuild>),
    /// Writes the list that was rebuilt.
    Writing,
    /// Brings what was found to stable storage.
    Syncing,
}

/// What a store needs to know of all its groups to open one.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpeningRules {
    pub(super) batch_bytes_max: u64,
    /// Whether other nodes have the same messages, and repair what this one lost.
    pub(super) has_peers: bool,
}

/// What came of a plan.
enum Progress {
    Next(Opening, Plan),
    /// All of it was read.
    Found,
    Done,
}

impl Group {
    /// The first plan of opening the group.
    pub(super) fn begin_opening(&mut self) -> (Running, Plan) {
        (Running::Opening(Opening::List), vec![Step::ReadAll(self.home.segments())])
    }

    /// Takes the end of a plan of opening: the next one, if there is one. The plan of [`Opening::Names`] is empty.
    pub(super) fn continue_opening(
        &mut self,
        opening: Opening,
        result: PlanResult,
        rules: OpeningRules,
        effects: &mut Vec<Effect>,
    ) -> Option<(Running, Plan)> {
        let progress = match (opening, result) {
            (Opening::Rebuild(rebuild), result) => Ok(self.rebuild_on(rebuild, result)),
            (opening, Ok(read)) => self.opened_further(opening, read, rules),
            (_, Err(PlanFault { reading: true, .. })) if self.schedule.failed_reads + 1 < ATTEMPTS => {
                self.schedule.failed_reads += 1;
                return Some(self.begin_opening());
            }
            (_, Err(PlanFault { path, error, .. })) => {
                Err(StoreDamage { path, fault: StoreFault::Unreadable(error) })
            }
        };
        let progress = progress.and_then(|progress| self.check(progress));
        self.opened_so_far(progress, rules, effects)
    }

    /// Takes the files of the directory.
    pub(super) fn take_names(
        &mut self,
        files: &[FileFound],
        rules: OpeningRules,
        effects: &mut Vec<Effect>,
    ) -> Option<(Running, Plan)> {
        let rebuild = Rebuild::new(self, files, rules.batch_bytes_max);
        let progress = self.rebuild_next(Box::new(rebuild));
        let progress = self.check(progress);
        self.opened_so_far(progress, rules, effects)
    }

    fn opened_so_far(
        &mut self,
        progress: Result<Option<(Opening, Plan)>, StoreDamage>,
        rules: OpeningRules,
        effects: &mut Vec<Effect>,
    ) -> Option<(Running, Plan)> {
        match progress {
            Ok(Some((opening, plan))) => return Some((Running::Opening(opening), plan)),
            Ok(None) => {
                self.phase = Phase::Open;
                self.schedule.failed_reads = 0;
                self.drop_known();
                effects.push(Effect::Opened { group: self.id, held: self.held() });
                self.tell_fences(effects);
            }
            Err(damage) if rules.has_peers || damage.is_newer() => self.lose(damage, effects),
            Err(damage) => {
                self.damage = Some(damage);
                return Some((Running::Opening(Opening::Names), Plan::new()));
            }
        }
        None
    }

    /// Says which messages are lost, if that is not what was said last.
    pub(super) fn tell_fences(&mut self, effects: &mut Vec<Effect>) {
        if self.reported_fences != self.listed.fences {
            self.reported_fences.clone_from(&self.listed.fences);
            effects.push(Effect::Fenced { group: self.id, fences: self.reported_fences.clone() });
        }
    }

    /// The group is damaged, and cannot go on by itself.
    pub(super) fn lose(&mut self, damage: StoreDamage, effects: &mut Vec<Effect>) {
        self.phase = Phase::Damaged;
        self.tail = None;
        self.damage = Some(damage.clone());
        effects.push(Effect::Damaged { group: self.id, damage });
    }

    fn opened_further(
        &mut self,
        opening: Opening,
        read: Vec<Option<Buffer>>,
        rules: OpeningRules,
    ) -> Result<Progress, StoreDamage> {
        let mut read = read.into_iter();
        let file = read.next().flatten();
        match (opening, file) {
            (Opening::List, Some(bytes)) => self.listed(&bytes, rules),
            (Opening::List, None) => Ok(Progress::Found),
            (Opening::Prefix(_) | Opening::Scan(_), None) => self.missing_tail(),
            (Opening::Prefix(unsealed), Some(last)) => {
                let after = read.next().flatten();
                self.trust(&unsealed, &last, after.as_deref().unwrap_or_default(), rules.batch_bytes_max)
            }
            (Opening::Scan(mut scan), Some(piece)) => {
                if scan.feed(&piece) {
                    self.scanned(*scan)
                } else {
                    Ok(self.scan_on(scan))
                }
            }
            (Opening::Names | Opening::Rebuild(_), _) => Ok(Progress::Found),
            (Opening::Writing, _) => Ok(self.sync_found()),
            (Opening::Syncing, _) => Ok(Progress::Done),
        }
    }

    fn listed(&mut self, bytes: &[u8], rules: OpeningRules) -> Result<Progress, StoreDamage> {
        let damage = |fault| StoreDamage { path: self.home.segments(), fault };
        let listed = SegmentsFile::decode(bytes).map_err(|refusal| {
            // One bit makes a version of another: a newer server wrote its checksum, too.
            let is_newer = refusal.is_newer() && segments_file::KIND.is_whole(bytes);
            damage(if is_newer { StoreFault::Newer(refusal) } else { StoreFault::Refused(refusal) })
        })?;
        if listed.node != self.listed.node || listed.group != self.id {
            return Err(damage(StoreFault::Foreign));
        }
        if let Some(vouched) = &self.vouched {
            let (found, vouched) =
                ((listed.purge_generation, listed.sequence), (vouched.generation, vouched.list_sequence));
            if found.0 < vouched.0 {
                return Err(damage(StoreFault::Generation { found: found.0, vouched: vouched.0 }));
            }
            if found.0 == vouched.0 && found.1 < vouched.1 {
                return Err(damage(StoreFault::Sequence { found: found.1, vouched: vouched.1 }));
            }
        }
        self.present = true;
        if listed.purge_generation > self.generation {
            (self.generation, self.truncated_to) = (listed.purge_generation, 0);
        }
        self.set_list(listed);
        Ok(self.begin_tail(rules))
    }

    /// Begins to read the unsealed segment, if there is one.
    fn begin_tail(&mut self, rules: OpeningRules) -> Progress {
        let unsealed = self.listed.segments.last().copied().filter(|entry| !entry.is_sealed());
        let Some(entry) = unsealed else { return Progress::Found };
        let vouched = self.vouched.as_ref();
        let generation = self.listed.purge_generation;
        let is_newer = |vouched: &Vouched| {
            vouched.generation < generation || vouched.last().is_none_or(|last| last < entry.base_offset)
        };
        if !rules.has_peers && vouched.is_some_and(is_newer) {
            // The journal has all of it, and nothing proves that the file is the one that was written.
            self.drop_unsealed();
            return Progress::Found;
        }
        let same = vouched.filter(|vouched| vouched.generation == self.listed.purge_generation);
        let described = same.and_then(|vouched| vouched.unsealed);
        if let Some(unsealed) = described.filter(|unsealed| unsealed.base_offset == entry.base_offset) {
            let path = self.home.segment(&entry);
            let page = |position: u64| position / PAGE as u64 * PAGE as u64;
            let last = Step::Read { path: path.clone(), offset: page(unsealed.last_batch), length: 2 * PAGE };
            let after = Step::Read { path, offset: page(unsealed.bytes - 1), length: AFTER_PREFIX };
            return Progress::Next(Opening::Prefix(unsealed), vec![last, after]);
        }
        let tail = self.with_ops(Tail::new(entry.base_offset, self.listed.first_op));
        self.scan_on(Box::new(Scan::new(tail, rules.batch_bytes_max)))
    }

    /// The segment is made anew from the journal. If it was the first of the list, all before it was truncated, maybe by
    /// an operation that the manifest does not know.
    fn drop_unsealed(&mut self) {
        self.listed.first_op = 0;
        if let Some(dropped) = self.listed.segments.pop()
            && self.listed.segments.is_empty()
        {
            self.listed.next_offset = dropped.base_offset;
        }
    }

    fn with_ops(&self, mut tail: Tail) -> Tail {
        tail.last_op = self.listed.first_op.max(self.vouched.as_ref().map_or(0, |vouched| vouched.op));
        tail
    }

    /// Holds the last batch of a prefix against what the manifest says of it, and goes on behind the prefix.
    fn trust(
        &mut self,
        unsealed: &UnsealedSegment,
        last: &[u8],
        after: &[u8],
        batch_bytes_max: u64,
    ) -> Result<Progress, StoreDamage> {
        let page = PAGE as u64;
        let at = usize::try_from(unsealed.last_batch % page).unwrap_or(0);
        let header = BatchHeader::decode(last.get(at..).unwrap_or_default());
        let stands = header.is_ok_and(|header| {
            header.checksum == unsealed.last_checksum
                && unsealed.last_batch.checked_add(header.length) == Some(unsealed.bytes)
        });
        let begin = (unsealed.bytes - 1) / page * page;
        let ends = usize::try_from(unsealed.bytes - begin).unwrap_or(0);
        let (Some(front), true) = (after.get(..ends), stands) else {
            let fault = StoreFault::Ends { found: None, vouched: unsealed.last_offset };
            return Err(self.damage_of_tail(fault));
        };
        let partial = if ends == PAGE { Vec::new() } else { front.to_vec() };
        let tail = self.with_ops(Tail::resume(unsealed, self.listed.first_op, partial));
        let read_to = begin + after.len() as u64;
        let mut scan = Scan::resume(tail, after[ends..].to_vec(), read_to, batch_bytes_max);
        if scan.begin(after.len() < AFTER_PREFIX) {
            return self.scanned(scan);
        }
        Ok(self.scan_on(Box::new(scan)))
    }

    fn scanned(&mut self, scan: Scan) -> Result<Progress, StoreDamage> {
        match scan.finish() {
            Some(tail) => {
                self.tail = Some(tail);
                Ok(Progress::Found)
            }
            None => self.missing_tail(),
        }
    }

    fn scan_on(&self, scan: Box<Scan>) -> Progress {
        let path = self.listed.segments.last().map(|entry| self.home.segment(entry)).unwrap_or_default();
        let plan = vec![Step::Read { path, offset: scan.offset(), length: PIECE }];
        Progress::Next(Opening::Scan(scan), plan)
    }

    /// The unsealed segment has no batch. If it begins after what is vouched for, the journal has all of it.
    fn missing_tail(&mut self) -> Result<Progress, StoreDamage> {
        let base_offset = self.listed.segments.last().map(|entry| entry.base_offset);
        let needed = self
            .vouched
            .as_ref()
            .filter(|vouched| vouched.generation == self.listed.purge_generation && vouched.last().is_some());
        if needed.is_some_and(|vouched| vouched.last() >= base_offset) {
            return Err(self.damage_of_tail(StoreFault::Missing));
        }
        self.drop_unsealed();
        Ok(Progress::Found)
    }

    fn damage_of_tail(&self, fault: StoreFault) -> StoreDamage {
        let tail = self.listed.segments.last().map(|entry| self.home.segment(entry));
        StoreDamage { path: tail.unwrap_or_else(|| self.home.segments()), fault }
    }

    /// Holds what was found against what the manifest vouches for, and has it synced unless that is all.
    fn check(&mut self, progress: Progress) -> Result<Option<(Opening, Plan)>, StoreDamage> {
        match progress {
            Progress::Next(opening, plan) => return Ok(Some((opening, plan))),
            Progress::Done => return Ok(None),
            Progress::Found => {}
        }
        let synced = |progress| match progress {
            Progress::Next(opening, plan) => Ok(Some((opening, plan))),
            Progress::Found | Progress::Done => Ok(None),
        };
        let Some(vouched) = self.vouched.as_ref() else { return synced(self.sync_found()) };
        let (generation, last) = (vouched.generation, vouched.last());
        if self.listed.sequence == 0 {
            self.generation = self.generation.max(generation);
            self.listed.purge_generation = self.generation;
        }
        let found = self.last_offset();
        let same = self.listed.purge_generation == generation;
        if let Some(vouched) = last.filter(|last| same && found.is_none_or(|found| found < *last)) {
            return Err(self.damage_of_tail(StoreFault::Ends { found, vouched }));
        }
        let is_all = same && last.is_some() && found == last;
        if is_all { Ok(None) } else { synced(self.sync_found()) }
    }

    fn sync_found(&self) -> Progress {
        if !self.present {
            return Progress::Done;
        }
        let parent = self.home.parent().to_owned();
        let unsealed = self.listed.segments.last().filter(|entry| !entry.is_sealed());
        let sync = |entry| Step::Sync { path: self.home.segment(entry), batches: true };
        let mut plan: Plan = unsealed.map(sync).into_iter().collect();
        plan.push(Step::SyncDirectory(self.home.directory()));
        plan.extend(parent.parent().map(|above| Step::SyncDirectory(above.to_owned())));
        plan.push(Step::SyncDirectory(parent));
        Progress::Next(Opening::Syncing, plan)
    }

    /// Takes what a rebuild has read.
    fn rebuild_on(&mut self, mut rebuild: Box<Rebuild>, result: PlanResult) -> Progress {
        rebuild.take(result.ok().and_then(|read| read.into_iter().next().flatten()));
        self.rebuild_next(rebuild)
    }

    fn rebuild_next(&mut self, rebuild: Box<Rebuild>) -> Progress {
        if let Some(step) = rebuild.step(&self.home) {
            return Progress::Next(Opening::Rebuild(rebuild), vec![step]);
        }
        let rebuilt = rebuild.finish();
        let mut plan = Plan::new();
        self.present = false;
        self.make_directory(&mut plan);
        for (entry, index) in &rebuilt.indexes {
            super::plan::replace(&mut plan, self.home.index(entry), index.encode());
        }
        self.put_list(&mut plan, &rebuilt.listed);
        self.present = true;
        self.generation = self.generation.max(rebuilt.listed.purge_generation);
        self.set_list(rebuilt.listed);
        self.tail = rebuilt.tail.map(|tail| self.with_ops(tail));
        Progress::Next(Opening::Writing, plan)
    }
}
