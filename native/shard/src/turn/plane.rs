//! The metadata plane of a node. Shard 0 connects its log, Python and the mirrors; every shard keeps a mirror
//! and executes reconcile operations.

use std::collections::BTreeMap;
use std::sync::Arc;

use ng_catalog::Catalog;
use ng_catalog::replies::PartitionFigures;
use ng_control::applied::Applied;
use ng_control::reconcile_order::{ReconcileAnswers, ReconcileOp};
use ng_control::record::Record;
use ng_control::rows_update::RowsUpdate;
use ng_control::shard_id::ShardId;
use ng_io::{Environment, Instant};
use ng_mesh::frame::{Orders, PlaneFrame, ReconcileReport, ShardFrame};
use ng_mesh::routes::{PublishedFigures, Route};
use ng_replication::Keeping;
use ng_replication::owner::{METADATA, owner};
use ng_vsr::Status;
use ng_wire::primitive::{put_u8, put_u64};
use ng_wire::table::exit_status::ExitStatus;
use ng_wire::table::reconcile::{HeldState, ReconcileKind, ReconcileOutcome};
use ng_wire::table::record::ToPython;

use super::Shard;
use crate::ending::Ending;
use crate::pending_builds::PendingBuilds;

/// Maximum partitions whose figures are published per turn.
const FIGURES_PER_TURN: usize = 256;

/// Maximum records that wait for room in the ring to Python. Python handles far fewer at a time; if a bug
/// exceeds this, the process ends before it consumes all memory.
const UNSENT_MAX: usize = 1 << 20;

/// Maximum groups in one record.
const OBSERVED_PER_RECORD: usize = 4096;

/// State of the plane on shard 0, except client requests.
#[derive(Debug, Default)]
pub(super) struct FirstPlane {
    /// Records that the ring had no room for, oldest first.
    unsent: Vec<Vec<u8>>,
    /// Figures that the owner of each partition publishes.
    figures: BTreeMap<u64, Arc<PublishedFigures>>,
    /// Operation of the rows that were last sent to all mirrors.
    told: u64,
    /// Progress of the metadata log since the start.
    catching_up: CatchingUp,
    /// First deltas of the operation that Python answers next.
    deltas: Vec<u8>,
}

/// Progress of handing the metadata log to Python after a start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum CatchingUp {
    /// The replica has not begun its view.
    #[default]
    Starting,
    /// Operations up to this one were in the log at the start.
    Until(u64),
    /// Python has received all of them.
    Done,
}

/// State of the plane on every shard.
#[derive(Debug, Default)]
pub(super) struct OwnPlane {
    /// Shard 0 knows the groups that this shard had at its start.
    observed: bool,
    /// Ended groups whose end the control plane has not confirmed; true if their files are deleted.
    tombstones: BTreeMap<u64, bool>,
    /// Executed operations that are not reported yet, because their groups are still opening.
    pending: PendingBuilds,
}

impl OwnPlane {
    /// Time at which unreported operations count as failed.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.pending.deadline()
    }
}

impl<E: Environment> Shard<E> {
    /// Moves records and rows between the log, Python and the mirrors.
    pub(super) fn tend_plane(&mut self) {
        self.observe_once();
        if self.first.is_none() {
            return;
        }
        self.tell_mirrors();
        self.hand_over_to_python();
        self.answer_commands();
    }

    /// Records wait for room in the ring to Python.
    pub(super) fn is_python_behind(&self) -> bool {
        let waits = self.first.as_ref().is_some_and(|first| !first.plane.unsent.is_empty());
        waits || (self.first.is_some() && !self.log.metadata().is_handed_over())
    }

    fn observe_once(&mut self) {
        if std::mem::replace(&mut self.own_plane.observed, true) {
            return;
        }
        let ending: Vec<u64> = self.log.ending().collect();
        self.own_plane.tombstones.extend(ending.iter().map(|group| (*group, false)));
        let open = self.log.partitions().map(|group| (group, true));
        let groups: Vec<(u64, bool)> = open.chain(ending.into_iter().map(|group| (group, false))).collect();
        let shard = self.handler.id;
        if self.first.is_some() {
            self.tell_observed(shard, &groups);
        } else {
            let frame = ShardFrame::Plane(PlaneFrame::Observed { shard, groups });
            self.handler.mailboxes.send(ShardId::FIRST, frame);
        }
    }

    /// Sends changed rows to every shard, in the order of the changes.
    fn tell_mirrors(&mut self) {
        for update in self.log.metadata_mut().take_updates() {
            if let Some(first) = &mut self.first {
                first.plane.told = update.op;
            }
            for shard in (1..self.handler.mailboxes.shards()).map(ShardId) {
                let frame = ShardFrame::Plane(PlaneFrame::Rows(update.clone()));
                self.handler.mailboxes.send(shard, frame);
            }
            self.mirror(&update);
        }
    }

    fn mirror(&mut self, update: &RowsUpdate) {
        if update.fresh {
            self.handler.catalog = Catalog::default();
        }
        let reach = self.handler.catalog.reach(&update.deltas);
        self.handler
            .catalog
            .fold(&update.deltas)
            .expect("the first shard folded the same changes into the same rows");
        for group in reach.gone {
            self.log.keep_nothing(group);
        }
        for (stream, topic) in reach.topics {
            self.keep_topic(stream, topic);
        }
    }

    /// Applies the retention options of a topic to its partitions on this shard.
    fn keep_topic(&mut self, stream: u32, topic: u32) {
        let catalog = &self.handler.catalog;
        let Some(row) = catalog.topic(stream, topic) else { return };
        let (shards, own) = (self.handler.mailboxes.shards(), self.handler.id.0);
        let partitions = u32::try_from(catalog.partitions_of(stream, topic).count()).unwrap_or(u32::MAX);
        let keeping = Keeping::of_topic(row.segment_size, row.message_expiry, row.max_topic_size, partitions);
        let groups = catalog.partitions_of(stream, topic).map(|(_, partition)| partition.group);
        for group in groups.filter(|group| owner(*group, shards) == own) {
            self.log.keep(group, keeping);
        }
    }

    fn hand_over_to_python(&mut self) {
        let (Some(first), Some(registry)) = (&mut self.first, &mut self.handler.registry) else { return };
        let sent = first.plane.unsent.iter().take_while(|bytes| registry.push_bytes(bytes).is_ok()).count();
        first.plane.unsent.drain(..sent);
        if !first.plane.unsent.is_empty()
            || self.log.metadata_mut().hand_over(|record| registry.push(record)).is_err()
        {
            return;
        }
        let Some(status) = self.log.status(METADATA) else { return };
        if first.plane.catching_up == CatchingUp::Starting && status.status == Status::Normal {
            first.plane.catching_up = CatchingUp::Until(status.head.0);
        }
        if let CatchingUp::Until(op) = first.plane.catching_up
            && status.commit_min.0 >= op
        {
            first.plane.catching_up = CatchingUp::Done;
            let body = [];
            self.tell_python(&Record { kind: ToPython::CaughtUp.code(), shard: 0, token: op, body: &body });
        }
    }

    /// Sends a record to Python now, or after all waiting records when there is room.
    pub(super) fn tell_python(&mut self, record: &Record<'_>) {
        let (Some(first), Some(registry)) = (&mut self.first, &mut self.handler.registry) else { return };
        if !first.plane.unsent.is_empty() || registry.push(record).is_err() {
            let mut bytes = Vec::new();
            record.write(&mut bytes);
            assert!(first.plane.unsent.len() < UNSENT_MAX, "too many records wait for the control plane");
            first.plane.unsent.push(bytes);
        }
    }

    fn answer_commands(&mut self) {
        let told = self.first.as_ref().map_or(0, |first| first.plane.told);
        let now = self.handler.now;
        let ready =
            self.handler.metadata.as_mut().map(|commands| commands.ready(told, now)).unwrap_or_default();
        for (shard, answer) in ready {
            self.answer_on(shard, answer);
        }
    }

    pub(super) fn take_plane_frame(&mut self, frame: PlaneFrame) {
        match frame {
            PlaneFrame::Rows(update) => {
                self.mirror(&update);
                let (shard, op) = (self.handler.id, update.op);
                let frame = ShardFrame::Plane(PlaneFrame::Mirrored { shard, op });
                self.handler.mailboxes.send(ShardId::FIRST, frame);
            }
            PlaneFrame::Mirrored { shard, op } => {
                if let Some(commands) = &mut self.handler.metadata {
                    commands.mirrored(shard, op);
                }
            }
            PlaneFrame::Orders(orders) => self.obey(*orders),
            PlaneFrame::Reconciled(report) => self.send_reconciled(*report),
            PlaneFrame::Observed { shard, groups } => self.tell_observed(shard, &groups),
            PlaneFrame::Cut { token, order } => self.cut(token, *order),
            PlaneFrame::CutEnded(told) => self.tell_cut(&told),
            PlaneFrame::Adopt { token, order } => self.adopt(token, *order),
            PlaneFrame::AdoptionEnded(told) => self.tell_adoption(&told),
            #[cfg(debug_assertions)]
            PlaneFrame::Fault(fault) => self.suffer(fault),
        }
    }

    /// Takes deltas of the operation that Python answers next.
    pub(super) fn take_part(&mut self, deltas: &[u8]) {
        if let Some(first) = &mut self.first {
            first.plane.deltas.extend_from_slice(deltas);
        }
    }

    /// Takes the decision of Python about an operation.
    pub(super) fn take_applied(&mut self, op: u64, body: &[u8]) -> Result<(), Ending> {
        let mut deltas =
            self.first.as_mut().map(|first| std::mem::take(&mut first.plane.deltas)).unwrap_or_default();
        let mut answer = Applied::decode(body).expect("checked at the boundary");
        if !deltas.is_empty() {
            deltas.extend_from_slice(answer.deltas);
            answer.deltas = &deltas;
        }
        self.log
            .metadata_mut()
            .applied(op, &answer)
            .map_err(|fault| Ending::new(ExitStatus::InternalFault, fault.to_string()))
    }

    /// Fails if the control plane names a shard that does not exist, because it knows their number.
    pub(super) fn check_shard(&self, shard: ShardId) -> Result<(), Ending> {
        if shard.0 < self.handler.mailboxes.shards() {
            return Ok(());
        }
        let reason = format!("the control plane sent operations to shard {}, which does not exist", shard.0);
        Err(Ending::new(ExitStatus::InternalFault, reason))
    }

    /// Takes reconcile operations from the control plane for a shard.
    pub(super) fn take_orders(
        &mut self,
        shard: ShardId,
        pass: u64,
        orders: Vec<ReconcileOp>,
    ) -> Result<(), Ending> {
        self.check_shard(shard)?;
        // The shard must know the retention options of a partition before the partition begins.
        self.tell_mirrors();
        let Some(first) = &mut self.first else { return Ok(()) };
        let with_figures = |order: ReconcileOp| {
            let figures = match order.kind {
                ReconcileKind::InsertRouted => {
                    Some(first.plane.figures.entry(order.group).or_default().clone())
                }
                ReconcileKind::ConfirmRemove => {
                    first.plane.figures.remove(&order.group);
                    None
                }
                _ => None,
            };
            (order, figures)
        };
        let orders = Orders { pass, orders: orders.into_iter().map(with_figures).collect() };
        if shard == self.handler.id {
            self.obey(orders);
        } else {
            let frame = ShardFrame::Plane(PlaneFrame::Orders(Box::new(orders)));
            self.handler.mailboxes.send(shard, frame);
        }
        Ok(())
    }

    fn obey(&mut self, Orders { pass, orders }: Orders) {
        let mut answers = ReconcileAnswers::default();
        for (order, figures) in orders {
            self.obey_one(pass, order, figures, &mut answers);
        }
        self.report(pass, answers);
    }

    fn obey_one(
        &mut self,
        pass: u64,
        order: ReconcileOp,
        figures: Option<Arc<PublishedFigures>>,
        answers: &mut ReconcileAnswers,
    ) {
        let ReconcileOp { kind, group, .. } = order;
        let shards = self.handler.mailboxes.shards();
        let owner = ShardId(owner(group, shards));
        let is_own = owner == self.handler.id;
        let outcome = match kind {
            ReconcileKind::InsertOwned => match self.begin_group(group, is_own) {
                ReconcileOutcome::Done => return self.tell_when_ready(pass, order),
                outcome => outcome,
            },
            ReconcileKind::InsertRouted => {
                self.handler.routes.insert(group, Route { owner, figures: figures.unwrap_or_default() });
                if is_own {
                    return self.tell_when_ready(pass, order);
                }
                ReconcileOutcome::Done
            }
            ReconcileKind::RemoveRouted => {
                let route = self.handler.routes.remove(group);
                if let Some(route) = route.filter(|_| is_own) {
                    self.publish_on(&route, PartitionFigures::default());
                }
                if is_own && self.end_group(group) {
                    ReconcileOutcome::Removed
                } else {
                    ReconcileOutcome::Done
                }
            }
            ReconcileKind::ConfirmRemove => {
                self.own_plane.tombstones.remove(&group);
                ReconcileOutcome::Done
            }
            ReconcileKind::Purge => match self.ask_for_purge(pass, order) {
                Some(outcome) => outcome,
                None => return,
            },
        };
        answers.add(kind, group, outcome);
    }

    fn begin_group(&mut self, group: u64, is_own: bool) -> ReconcileOutcome {
        if !is_own || self.own_plane.tombstones.contains_key(&group) || self.log.open(group).is_err() {
            return ReconcileOutcome::Failed;
        }
        ReconcileOutcome::Done
    }

    /// Reports an own group only when it is ready. Otherwise requests would be refused during its start, or
    /// clients would see fewer messages than it has.
    fn tell_when_ready(&mut self, pass: u64, order: ReconcileOp) {
        self.own_plane.pending.add(order.group, pass, order.kind, self.handler.now);
    }

    /// Reports pending groups that are ready or have failed, and publishes changed figures to every shard.
    pub(super) fn tell_ready_groups(&mut self) {
        for (group, figures) in self.log.changed_figures(FIGURES_PER_TURN) {
            self.publish_figures(group, figures);
        }
        let mut pending = std::mem::take(&mut self.own_plane.pending);
        let told = pending.settle(self.handler.now, |group, kind| self.is_ready(group, kind));
        self.own_plane.pending = pending;
        for (pass, answers) in told {
            self.report(pass, answers);
        }
    }

    fn is_ready(&mut self, group: u64, kind: ReconcileKind) -> bool {
        if !self.log.is_settled(group) {
            return false;
        }
        if kind == ReconcileKind::InsertRouted {
            let Some(figures) = self.log.figures(group) else { return false };
            self.publish_figures(group, figures);
        }
        true
    }

    /// Ends a group and leaves a tombstone. Returns true if its files are already deleted.
    fn end_group(&mut self, group: u64) -> bool {
        if self.log.has(group) {
            self.log.remove(group);
            self.own_plane.tombstones.insert(group, false);
            return false;
        }
        *self.own_plane.tombstones.entry(group).or_insert(true)
    }

    /// The files of a tombstone are deleted.
    pub(super) fn group_removed(&mut self, group: u64) {
        self.owned.emptied(group);
        self.shortage.trash.entry_came();
        if let Some(gone) = self.own_plane.tombstones.get_mut(&group) {
            *gone = true;
            let mut answers = ReconcileAnswers::default();
            answers.add(ReconcileKind::RemoveRouted, group, ReconcileOutcome::Removed);
            self.report(0, answers);
        }
    }

    /// The files of a tombstone could not be removed. The control plane counts the failure and repeats the
    /// operation.
    pub(super) fn report_failed_removal(&mut self, group: u64) {
        if self.own_plane.tombstones.get(&group) == Some(&false) {
            let mut answers = ReconcileAnswers::default();
            answers.add(ReconcileKind::RemoveRouted, group, ReconcileOutcome::Failed);
            self.report(0, answers);
        }
    }

    /// Reports the outcomes of operations to the control plane.
    pub(super) fn report(&mut self, pass: u64, answers: ReconcileAnswers) {
        if answers.is_empty() {
            return;
        }
        let report = ReconcileReport { shard: self.handler.id, pass, answers };
        if self.first.is_some() {
            self.send_reconciled(report);
        } else {
            let frame = ShardFrame::Plane(PlaneFrame::Reconciled(Box::new(report)));
            self.handler.mailboxes.send(ShardId::FIRST, frame);
        }
    }

    fn send_reconciled(&mut self, ReconcileReport { shard, pass, answers }: ReconcileReport) {
        let body = answers.into_bytes();
        self.tell_python(&Record {
            kind: ToPython::Reconciled.code(),
            shard: shard.0,
            token: pass,
            body: &body,
        });
    }

    fn tell_observed(&mut self, shard: ShardId, groups: &[(u64, bool)]) {
        let mut pieces = groups.chunks(OBSERVED_PER_RECORD).peekable();
        loop {
            let piece = pieces.next().unwrap_or_default();
            let is_last = pieces.peek().is_none();
            let mut body = vec![u8::from(is_last)];
            for (group, is_open) in piece {
                put_u64(&mut body, *group);
                let state = if *is_open { HeldState::Owned } else { HeldState::Tombstone };
                put_u8(&mut body, state.code());
            }
            self.tell_python(&Record {
                kind: ToPython::Observed.code(),
                shard: shard.0,
                token: 0,
                body: &body,
            });
            if is_last {
                return;
            }
        }
    }
}
