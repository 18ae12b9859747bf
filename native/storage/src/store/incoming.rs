//! States that go to, and come from, other replicas: a group's segments as they are on the disk.
//!
//! What comes is written beside the group's directory and takes its place when it is whole. Everything in it is
//! committed, so that it may be in place before the journal says so: ops that the journal replays over it are known.

use std::path::PathBuf;

use ng_io::Buffer;

use super::flush::Trash;
use super::group::{Group, Installing, Order, Phase, Running};
use super::plan::{Plan, Step, replace};
use super::{Effect, Vouched};
use crate::PAGE;
use crate::footer::DIGEST_SPAN;
use crate::segments_file::{SegmentEntry, SegmentsFile};

/// The files of a group as far as they are synced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportPlan {
    /// The purge generation.
    pub generation: u64,
    /// The last offset.
    pub last_offset: Option<u64>,
    /// In order; only the last may be unsealed.
    pub files: Vec<ExportedFile>,
}

/// One file of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportedFile {
    /// Where it is. It may be removed while it is read: then there is a new plan to be made.
    pub path: PathBuf,
    /// What SEGMENTS says of it.
    pub entry: SegmentEntry,
    /// How many bytes of it count: of a sealed one whole pages, footer and padding included, else those of the batches.
    pub bytes: u64,
}

/// How many bytes a sealed segment has, footer and padding included.
#[must_use]
pub fn sealed_bytes(entry: &SegmentEntry) -> u64 {
    let page = PAGE as u64;
    let footer = 128 + 16 * entry.bytes.div_ceil(DIGEST_SPAN as u64);
    entry.bytes.next_multiple_of(page) + footer.next_multiple_of(page)
}

impl Group {
    /// What there is to read. Batches that come behind it meanwhile do no harm to it.
    pub(super) fn export(&self) -> Option<ExportPlan> {
        let bytes = |entry: &SegmentEntry| match &self.tail {
            Some(tail) if !entry.is_sealed() => tail.bytes,
            _ => sealed_bytes(entry),
        };
        let file = |entry: &SegmentEntry| ExportedFile {
            path: self.home.segment(entry),
            entry: *entry,
            bytes: bytes(entry),
        };
        let grows_only = match &self.running {
            None => true,
            Some(running) => {
                matches!(
                    running,
                    Running::Appending { .. }
                        | Running::Sealing { .. }
                        | Running::Reading { .. }
                        | Running::Cutting { .. }
                )
            }
        };
        let steady = grows_only && self.orders.iter().all(|order| matches!(order, Order::Read { .. }));
        (self.phase == Phase::Open && steady).then(|| ExportPlan {
            generation: self.generation,
            last_offset: self.last_offset(),
            files: self.listed.segments.iter().map(file).collect(),
        })
    }

    pub(super) fn import(
        &mut self,
        entry: SegmentEntry,
        offset: u64,
        buffer: Buffer,
        trash: &Trash,
    ) -> (Running, Plan) {
        let mut plan = Plan::new();
        if self.incoming.is_none() {
            plan.push(Step::Retire { from: self.home.incoming(), to: trash.path("incoming") });
        }
        self.make_incoming(&mut plan);
        let path = self.home.incoming().join(entry.file_name());
        plan.push(Step::Write { path, offset, buffer, batches: true });
        (Running::Importing { entry }, plan)
    }

    /// Puts aside what was imported so far.
    pub(super) fn give_up(&self, trash: &Trash) -> (Running, Plan) {
        let retire = Step::Retire { from: self.home.incoming(), to: trash.path("incoming") };
        (Running::GivingUp, vec![retire])
    }

    pub(super) fn imported(&mut self, entry: SegmentEntry, effects: &mut Vec<Effect>) {
        let entries = self.incoming.get_or_insert_default();
        if !entries.contains(&entry) {
            entries.push(entry);
        }
        effects.push(Effect::Imported { group: self.id });
    }

    pub(super) fn install(&self, installing: Installing, trash: &Trash) -> (Running, Plan) {
        let mut segments = self.incoming.clone().unwrap_or_default();
        segments.sort_by_key(|entry| entry.base_offset);
        let incoming = self.home.incoming();
        let mut plan = Plan::new();
        if self.incoming.is_none() {
            plan.push(Step::Retire { from: incoming.clone(), to: trash.path("incoming") });
        }
        self.make_incoming(&mut plan);
        plan.extend(
            segments.iter().map(|entry| Step::Sync { path: incoming.join(entry.file_name()), batches: true }),
        );
        let listed = SegmentsFile {
            purge_generation: installing.generation,
            sequence: 1,
            first_op: 0,
            next_offset: if segments.is_empty() { installing.next_offset } else { 0 },
            segments,
            ..self.listed.clone()
        };
        plan.push(Step::SyncDirectory(incoming.clone()));
        replace(&mut plan, incoming.join("SEGMENTS"), listed.encode());
        plan.push(Step::SyncDirectory(incoming.clone()));
        // Between these two a start finds no directory, but a whole state beside it, and takes that.
        plan.push(Step::Retire { from: self.home.directory(), to: trash.path("group") });
        plan.push(Step::Rename { from: incoming, to: self.home.directory() });
        plan.push(Step::SyncDirectory(self.home.parent().to_owned()));
        plan.push(Step::SyncDirectory(trash.directory.clone()));
        (Running::Installing(installing), plan)
    }

    fn make_incoming(&self, plan: &mut Plan) {
        let parent = self.home.parent();
        plan.push(Step::MakeDirectory(parent.to_owned()));
        plan.extend(parent.parent().map(|above| Step::SyncDirectory(above.to_owned())));
        plan.push(Step::MakeDirectory(self.home.incoming()));
    }

    /// The new directory is opened like any other.
    pub(super) fn installed(&mut self, generation: u64, op: u64, effects: &mut Vec<Effect>) {
        self.phase = Phase::Closed;
        self.tail = None;
        self.incoming = None;
        self.vouched = Some(Vouched { op, last_offset: u64::MAX, generation });
        effects.push(Effect::Installed { group: self.id });
    }
}
