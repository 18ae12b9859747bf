//! Opening a group: SEGMENTS says which segments there are, and the unsealed one is read to its end. What is there beyond what
//! the manifest vouches for may be in the page cache alone, left by a process that was killed: it is synced first.

use ng_io::Buffer;

use super::group::{Group, Phase, Running};
use super::plan::{Plan, PlanFault, PlanResult, Step};
use super::scan::{PIECE, Scan};
use super::tail::Tail;
use super::{Effect, StoreDamage, StoreFault};
use crate::segments_file::SegmentsFile;

/// How often a group is opened before what cannot be read counts as damaged: some disks fail a read once.
const ATTEMPTS: u8 = 5;

/// What the plan under way is for.
#[derive(Debug)]
pub(super) enum Opening {
    /// Reads SEGMENTS.
    List,
    /// Reads the unsealed segment.
    Scan(Box<Scan>),
    /// Brings what was found to stable storage.
    Syncing,
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

    /// Takes the end of a plan of opening: the next one, if there is one.
    pub(super) fn continue_opening(
        &mut self,
        opening: Opening,
        result: PlanResult,
        batch_bytes_max: u64,
        effects: &mut Vec<Effect>,
    ) -> Option<(Running, Plan)> {
        let progress = match result {
            Ok(read) => self.opened_further(opening, read, batch_bytes_max),
            Err(PlanFault { reading: true, .. }) if self.unread + 1 < ATTEMPTS => {
                self.unread += 1;
                return Some(self.begin_opening());
            }
            Err(PlanFault { path, error, .. }) => {
                Err(StoreDamage { path, fault: StoreFault::Unreadable(error) })
            }
        };
        match progress.and_then(|progress| self.check(progress)) {
            Ok(Some((opening, plan))) => return Some((Running::Opening(opening), plan)),
            Ok(None) => {
                self.phase = Phase::Open;
                self.unread = 0;
                self.drop_known();
                effects.push(Effect::Opened { group: self.id, held: self.held() });
            }
            Err(damage) => {
                self.phase = Phase::Damaged;
                self.tail = None;
                self.damage = Some(damage.clone());
                effects.push(Effect::Damaged { group: self.id, damage });
            }
        }
        None
    }

    fn opened_further(
        &mut self,
        opening: Opening,
        read: Vec<Option<Buffer>>,
        batch_bytes_max: u64,
    ) -> Result<Progress, StoreDamage> {
        let file = read.into_iter().next().flatten();
        match (opening, file) {
            (Opening::List, Some(bytes)) => self.listed(&bytes, batch_bytes_max),
            (Opening::List, None) => Ok(Progress::Found),
            (Opening::Syncing, _) => Ok(Progress::Done),
            (Opening::Scan(_), None) => Err(self.damage_of_tail(StoreFault::Missing)),
            (Opening::Scan(mut scan), Some(piece)) => {
                if scan.feed(&piece) {
                    self.tail = Some(scan.finish().ok_or_else(|| self.damage_of_tail(StoreFault::Missing))?);
                    return Ok(Progress::Found);
                }
                Ok(self.scan_on(scan))
            }
        }
    }

    fn listed(&mut self, bytes: &[u8], batch_bytes_max: u64) -> Result<Progress, StoreDamage> {
        let damage = |fault| StoreDamage { path: self.home.segments(), fault };
        let listed = SegmentsFile::decode(bytes).map_err(|refusal| damage(StoreFault::Refused(refusal)))?;
        if listed.node != self.listed.node || listed.group != self.id {
            return Err(damage(StoreFault::Foreign));
        }
        let vouched = self.vouched.map_or(0, |vouched| vouched.generation);
        if listed.purge_generation < vouched {
            let found = listed.purge_generation;
            return Err(damage(StoreFault::Generation { found, vouched }));
        }
        self.present = true;
        if listed.purge_generation > self.generation {
            (self.generation, self.truncated_to) = (listed.purge_generation, 0);
        }
        let unsealed =
            listed.segments.last().filter(|entry| !entry.is_sealed()).map(|entry| entry.base_offset);
        let first_op = listed.first_op;
        self.set_list(listed);
        let Some(base_offset) = unsealed else { return Ok(Progress::Found) };
        let mut tail = Tail::new(base_offset, first_op);
        tail.last_op = first_op.max(self.vouched.map_or(0, |vouched| vouched.op));
        Ok(self.scan_on(Box::new(Scan::new(tail, batch_bytes_max))))
    }

    fn scan_on(&self, scan: Box<Scan>) -> Progress {
        let path = self.listed.segments.last().map(|entry| self.home.segment(entry)).unwrap_or_default();
        let plan = vec![Step::Read { path, offset: scan.offset(), length: PIECE }];
        Progress::Next(Opening::Scan(scan), plan)
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
        let Some(vouched) = self.vouched else { return Ok(self.sync_found()) };
        if self.listed.sequence == 0 {
            self.generation = self.generation.max(vouched.generation);
            self.listed.purge_generation = self.generation;
        }
        let found = self.last_offset();
        let same = self.listed.purge_generation == vouched.generation && vouched.last_offset != u64::MAX;
        if same && found.is_none_or(|found| found < vouched.last_offset) {
            return Err(self.damage_of_tail(StoreFault::Ends { found, vouched: vouched.last_offset }));
        }
        let is_all = same && found == Some(vouched.last_offset);
        Ok(if is_all { None } else { self.sync_found() })
    }

    fn sync_found(&self) -> Option<(Opening, Plan)> {
        if !self.present {
            return None;
        }
        let parent = self.home.parent().to_owned();
        let unsealed = self.listed.segments.last().filter(|entry| !entry.is_sealed());
        let sync = |entry| Step::Sync { path: self.home.segment(entry), batches: true };
        let mut plan: Plan = unsealed.map(sync).into_iter().collect();
        plan.push(Step::SyncDirectory(self.home.directory()));
        plan.extend(parent.parent().map(|above| Step::SyncDirectory(above.to_owned())));
        plan.push(Step::SyncDirectory(parent));
        Some((Opening::Syncing, plan))
    }
}
