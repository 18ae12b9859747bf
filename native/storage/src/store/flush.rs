//! What is pending of a group as plans: batches behind the last one, a segment sealed, a list replaced.

use ng_io::Buffer;

use super::group::{Group, Order, Running};
use super::plan::{Plan, Step, paged, replace};
use super::tail::{Passing, Tail};
use super::{Effect, StoreLimits};
use crate::PAGE;
use crate::segments_file::{SegmentEntry, SegmentsFile};

impl Group {
    /// The next plan, if there is anything to do now.
    pub(super) fn next_plan(
        &mut self,
        limits: &StoreLimits,
        trash: impl FnOnce() -> Trash,
    ) -> Option<(Running, Plan)> {
        while let Some(order) = self.orders.pop_front() {
            if !self.is_moot(&order) {
                return Some(self.carry_out(order, trash));
            }
            if let Order::Purge { op, .. } = order {
                self.purged_before = Some(op);
            }
        }
        if let Some(begun) = self.plan_closing() {
            return Some(begun);
        }
        if let Some(begun) = self.next_cut().or_else(|| self.next_staging()) {
            return Some(begun);
        }
        if self.wants_verification() && !std::mem::replace(&mut self.doubt.verified_last, true) {
            return self.plan_verification();
        }
        self.doubt.verified_last = false;
        if self.rolls {
            match &self.tail {
                Some(tail) if tail.surveyed => {
                    let begun = self.seal(tail);
                    self.rolls = false;
                    return Some(begun);
                }
                Some(_) => return self.plan_verification(),
                None => self.rolls = false,
            }
        }
        let is_due = self.pending.is_due(limits.flush_bytes);
        let Some(front) = self.pending.front().filter(|_| is_due) else {
            return if self.wants_verification() { self.plan_verification() } else { None };
        };
        let fits = |tail: &Tail| tail.bytes + front.bytes.len() as u64 <= limits.segment_bytes;
        match &self.tail {
            Some(tail) if !fits(tail) && !tail.surveyed => self.plan_verification(),
            Some(tail) if !fits(tail) => Some(self.seal(tail)),
            _ => Some(self.append(limits)),
        }
    }

    /// Whether a start applies an order again whose effect is on the disk, or was purged.
    fn is_moot(&self, order: &Order) -> bool {
        let present = self.listed.purge_generation;
        match order {
            Order::Purge { generation, next_offset, .. } => {
                (*generation, *next_offset) <= (present, self.lacks_from())
            }
            Order::TruncatePrefix { generation, offset } => {
                *generation != present || self.before(*offset).is_empty()
            }
            Order::WriteIndex { entry, .. } => !self.listed.segments.contains(entry),
            Order::Sweep => self.listed.loose.is_empty(),
            _ => false,
        }
    }

    fn append(&self, limits: &StoreLimits) -> (Running, Plan) {
        let start = self.tail.as_ref().map_or(0, |tail| tail.bytes);
        let partial = self.tail.as_ref().map_or_else(Vec::new, |tail| tail.partial.clone());
        let (mut count, mut bytes) = (0, 0);
        for batch in self.pending.iter() {
            let with = bytes + batch.bytes.len();
            let fits = start + with as u64 <= limits.segment_bytes && with <= limits.plan_bytes_max;
            if count > 0 && !fits {
                break;
            }
            (count, bytes) = (count + 1, with);
        }
        let batches = self.pending.iter().take(count).map(|batch| batch.bytes.clone()).collect();
        let offset = start - partial.len() as u64;
        let end = (start + bytes as u64).next_multiple_of(PAGE as u64);
        let mut plan = Plan::new();
        self.make_directory(&mut plan);
        let fresh = self.tail.is_none();
        let entry = self.tail.as_ref().map_or_else(|| self.first_entry(), Tail::entry);
        let path = self.home.segment(&entry);
        if fresh {
            // A purge that was cut short may have left a file of this name.
            plan.push(Step::Remove(path.clone()));
        }
        plan.push(Step::Append { path: path.clone(), offset, partial, batches, create: fresh });
        plan.extend(self.stale_bytes(end).map(|(offset, buffer)| Step::Write {
            path: path.clone(),
            offset,
            buffer,
            batches: true,
        }));
        plan.push(Step::Sync { path, batches: true });
        let listed = fresh.then(|| self.list_with(entry, self.pending.front().map_or(0, |batch| batch.op)));
        if let Some(listed) = &listed {
            plan.push(Step::SyncDirectory(self.home.directory()));
            self.put_list(&mut plan, listed);
        }
        (Running::Appending { count, listed, end }, plan)
    }

    /// Zeroes for what a write that was cut short may have left behind `end`.
    fn stale_bytes(&self, end: u64) -> Option<(u64, Buffer)> {
        let stale_to = self.tail.as_ref()?.stale_to.next_multiple_of(PAGE as u64);
        let count = usize::try_from(stale_to.checked_sub(end)?).ok().filter(|count| *count > 0)?;
        Some((end, paged(&[&vec![0; count]])))
    }

    fn first_entry(&self) -> SegmentEntry {
        Tail::new(self.pending.front().map_or(0, |batch| batch.base_offset), 0).entry()
    }

    fn list_with(&self, entry: SegmentEntry, first_op: u64) -> SegmentsFile {
        let mut listed = self.list_next();
        listed.segments.push(entry);
        listed.first_op = first_op;
        listed.next_offset = 0;
        listed
    }

    pub(super) fn list_next(&self) -> SegmentsFile {
        SegmentsFile { sequence: self.listed.sequence + 1, ..self.listed.clone() }
    }

    pub(super) fn put_list(&self, plan: &mut Plan, listed: &SegmentsFile) {
        replace(plan, self.home.segments(), listed.encode());
        plan.push(Step::SyncDirectory(self.home.directory()));
    }

    fn seal(&self, tail: &Tail) -> (Running, Plan) {
        let (footer, entry, index) = tail.seal(self.id);
        let path = self.home.segment(&entry);
        // The last page is written again: behind its batches there may be something of a write that was cut short.
        let rest = tail.partial.len();
        let padding = vec![0; rest.next_multiple_of(PAGE) - rest];
        let offset = tail.bytes - rest as u64;
        let buffer = paged(&[&tail.partial, &padding, &footer]);
        let end = offset + buffer.len() as u64;
        let mut plan = vec![Step::Write { path: path.clone(), offset, buffer, batches: true }];
        plan.extend(self.stale_bytes(end).map(|(offset, buffer)| Step::Write {
            path: path.clone(),
            offset,
            buffer,
            batches: true,
        }));
        plan.push(Step::Sync { path, batches: true });
        replace(&mut plan, self.home.index(&entry), index.encode());
        let mut listed = self.list_next();
        listed.segments.pop();
        listed.segments.push(entry);
        listed.first_op = 0;
        self.put_list(&mut plan, &listed);
        (Running::Sealing { listed, end }, plan)
    }

    fn carry_out(&mut self, order: Order, trash: impl FnOnce() -> Trash) -> (Running, Plan) {
        match order {
            Order::Purge { generation, next_offset, op, since } => {
                self.purge(generation, next_offset, (op, since))
            }
            Order::TruncatePrefix { offset, .. } => self.truncate_prefix(offset),
            Order::Swap { order, op } => self.plan_swap(order, op),
            Order::Sweep => self.plan_sweep(),
            Order::Remove => (Running::Removing, self.retire(trash())),
            Order::Read { entry, offset, length } => {
                let path = self.home.segment(&entry);
                (Running::Reading { entry, offset }, vec![Step::Read { path, offset, length }])
            }
            Order::WriteState { op, bytes } => {
                let mut plan = Plan::new();
                self.make_directory(&mut plan);
                replace(&mut plan, self.home.state(op), bytes);
                plan.push(Step::SyncDirectory(self.home.directory()));
                (Running::WritingState { op }, plan)
            }
            Order::WriteIndex { entry, bytes } => {
                let mut plan = Plan::new();
                replace(&mut plan, self.home.index(&entry), bytes);
                (Running::WritingIndex, plan)
            }
            Order::DropState { op } => {
                (Running::DroppingState { op }, vec![Step::Remove(self.home.state(op))])
            }
        }
    }

    fn purge(&self, generation: u64, next_offset: u64, (op, since): (u64, u64)) -> (Running, Plan) {
        let listed = SegmentsFile {
            purge_generation: generation,
            first_op: 0,
            next_offset,
            segments: Vec::new(),
            loose: Vec::new(),
            fences: Vec::new(),
            ..self.list_next()
        };
        let mut plan = Plan::new();
        self.make_directory(&mut plan);
        self.put_list(&mut plan, &listed);
        self.remove_files(&mut plan, &self.listed.segments);
        self.remove_files(&mut plan, &self.listed.loose);
        // No start looks for them once a manifest has the new generation.
        plan.push(Step::SyncDirectory(self.home.directory()));
        (Running::Purging { listed, op, since }, plan)
    }

    /// The sealed segments that lie before `offset`.
    pub(super) fn before(&self, offset: u64) -> &[SegmentEntry] {
        let all = &self.listed.segments;
        let before = |entry: &&SegmentEntry| entry.is_sealed() && self.planted.goes_before(entry, offset);
        &all[..all.iter().take_while(before).count()]
    }

    fn truncate_prefix(&self, offset: u64) -> (Running, Plan) {
        let dropped = self.before(offset);
        let kept = &self.listed.segments[dropped.len()..];
        let last = dropped.last().filter(|_| kept.is_empty());
        let next_offset = last.map_or(0, |entry| entry.last_offset + 1);
        let first = kept.first().map_or(next_offset, |entry| entry.base_offset);
        let mut listed = SegmentsFile { segments: kept.to_vec(), next_offset, ..self.list_next() };
        listed.fences.retain(|fence| fence.last_offset >= first);
        let mut plan = Plan::new();
        self.make_directory(&mut plan);
        self.put_list(&mut plan, &listed);
        self.remove_files(&mut plan, dropped);
        (Running::Truncating { listed, offset }, plan)
    }

    pub(super) fn remove_files(&self, plan: &mut Plan, segments: &[SegmentEntry]) {
        for entry in segments {
            plan.push(Step::Remove(self.home.segment(entry)));
            plan.push(Step::Remove(self.home.index(entry)));
        }
    }

    fn retire(&self, trash: Trash) -> Plan {
        vec![
            Step::Retire { from: self.home.directory(), to: trash.path("group") },
            Step::MakeDirectory(self.home.parent().to_owned()),
            Step::SyncDirectory(self.home.parent().to_owned()),
            Step::SyncDirectory(trash.directory),
        ]
    }

    /// Takes note of a plan that has been carried out.
    pub(super) fn carried_out(&mut self, running: Running, effects: &mut Vec<Effect>) {
        self.took_effect(running, effects);
        self.tell_fences(effects);
    }

    fn took_effect(&mut self, running: Running, effects: &mut Vec<Effect>) {
        let group = self.id;
        match running {
            Running::Appending { count, listed, .. } => self.appended(count, listed, effects),
            Running::Sealing { listed, .. } => self.sealed_tail(listed, effects),
            Running::Purging { listed, op, .. } => {
                self.set_list(listed);
                self.tail = None;
                (self.doubt.verification, self.doubt.closing) = (None, None);
                self.present = true;
                effects.push(Effect::Synced { group, op });
            }
            Running::Truncating { listed, .. } => {
                self.set_list(listed);
                self.present = true;
                effects.push(Effect::Truncated { group });
            }
            Running::WritingState { op } => {
                self.present = true;
                effects.push(Effect::StateWritten { group, op });
            }
            Running::Sweeping { listed } => self.set_list(listed),
            Running::Closing { listed, .. } => self.closed(listed),
            Running::Removing => effects.push(Effect::Removed { group }),
            Running::Opening(_)
            | Running::Reading { .. }
            | Running::Cutting { .. }
            | Running::Staging { .. }
            | Running::Swapping(_)
            | Running::Verifying(_)
            | Running::DroppingState { .. }
            | Running::WritingIndex => {}
        }
    }

    /// A truncation may have reached beyond what was sealed when it came: it does the rest now.
    fn sealed_tail(&mut self, listed: SegmentsFile, effects: &mut Vec<Effect>) {
        self.set_list(listed);
        self.tail = None;
        if !self.before(self.truncated_to).is_empty() {
            let (generation, offset) = (self.listed.purge_generation, self.truncated_to);
            self.orders.push_back(Order::TruncatePrefix { generation, offset });
        }
        effects.push(Effect::Sealed { group: self.id });
    }

    fn appended(&mut self, count: usize, listed: Option<SegmentsFile>, effects: &mut Vec<Effect>) {
        self.present = true;
        if let Some(listed) = listed {
            self.set_list(listed);
        }
        let mut op = 0;
        for batch in std::iter::from_fn(|| self.pending.pop()).take(count) {
            let tail = self.tail.get_or_insert_with(|| Tail::new(batch.base_offset, batch.op));
            tail.absorb(Passing::from(&batch));
            tail.last_op = tail.last_op.max(batch.op);
            tail.stale_to = 0;
            op = batch.op;
        }
        if op > 0 {
            effects.push(Effect::Synced { group: self.id, op });
        }
    }
}

/// A place in the trash that nothing has had before.
#[derive(Debug)]
pub(super) struct Trash {
    pub(super) directory: std::path::PathBuf,
    pub(super) name: String,
}

impl Trash {
    pub(super) fn path(&self, what: &str) -> std::path::PathBuf {
        self.directory.join(format!("{}-{what}", self.name))
    }
}
