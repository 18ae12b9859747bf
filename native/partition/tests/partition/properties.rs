//! Any work of a primary, any pace of execution, any change of views: the same as the model, and the same on
//! every replica.

use std::collections::BTreeMap;

use ng_partition::{Applied, Partition, PartitionState};
use ng_wire::replica::{ConsumerKind, LogOperation, OffsetWrite, PartitionOp, PartitionReply, swap_body};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;

use crate::model::Model;
use crate::rig::{GROUP, LIMITS, Rig, batch, offsets};
use crate::swaps::{input, output};

#[derive(Clone, Debug)]
enum Step {
    /// A producer sends this many messages.
    Send(u8),
    /// A batch is stamped, and the log has no room for it.
    Lose(u8),
    Store(BTreeMap<(bool, u8), Option<u8>>),
    Purge(u8),
    Truncate(u16),
    /// Of a purge generation that lies so far ahead, and up to this offset.
    Swap(u8, u16),
    DropGroup(u8),
    Fence(bool),
    Noop,
    Garbage(LogOperation, Vec<u8>),
    Execute(u8),
    /// Another primary keeps this many of the operations that were not executed.
    ChangeView(u8),
}

fn step() -> impl Strategy<Value = Step> {
    let garbage = prop_oneof![
        Just(LogOperation::Batch),
        Just(LogOperation::Offsets),
        Just(LogOperation::Purge),
        Just(LogOperation::Fence),
        Just(LogOperation::Swap),
    ];
    prop_oneof![
        6 => (1..6_u8).prop_map(Step::Send),
        1 => (1..6_u8).prop_map(Step::Lose),
        3 => btree_map((any::<bool>(), 0..5_u8), option::weighted(0.8, 0..20_u8), 1..4).prop_map(Step::Store),
        1 => (0..3_u8).prop_map(Step::Purge),
        1 => (0..40_u16).prop_map(Step::Truncate),
        1 => (prop_oneof![3 => Just(0), 1 => Just(1_u8)], 0..40_u16).prop_map(|(ahead, end)| Step::Swap(ahead, end)),
        1 => (0..5_u8).prop_map(Step::DropGroup),
        1 => any::<bool>().prop_map(Step::Fence),
        1 => Just(Step::Noop),
        1 => (garbage, vec(any::<u8>(), 0..7)).prop_map(|(operation, body)| Step::Garbage(operation, body)),
        6 => (1..6_u8).prop_map(Step::Execute),
        1 => (0..4_u8).prop_map(Step::ChangeView),
    ]
}

/// A rig beside its model.
struct World {
    rig: Rig,
    model: Model,
    clock: u64,
    messages: u128,
}

impl World {
    fn ids(&mut self, count: u8) -> std::ops::Range<u128> {
        let first = self.messages;
        self.messages += u128::from(count);
        first..self.messages
    }

    fn step(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match step {
            Step::Send(count) | Step::Lose(count) => {
                // A clock that often steps back.
                self.clock = (self.clock * 7 + 3) % 1_000;
                let mut batch = batch(self.ids(*count));
                let stamped = self.rig.stamp(&mut batch, self.clock);
                if matches!(step, Step::Send(_)) && stamped.is_some_and(|stamped| stamped.is_ok()) {
                    self.rig.prepare((LogOperation::Batch, batch));
                }
            }
            Step::Store(writes) => {
                let kind = |group: bool| if group { ConsumerKind::Group } else { ConsumerKind::Consumer };
                let writes = writes.iter().map(|((group, id), offset)| OffsetWrite {
                    kind: kind(*group),
                    id: u64::from(*id),
                    offset: offset.map(u64::from),
                });
                self.rig.prepare(offsets(&writes.collect::<Vec<_>>()));
            }
            Step::Purge(ahead) => {
                let generation = self.model.generation + u64::from(*ahead);
                self.rig.ask(PartitionOp::Purge { generation });
            }
            Step::Truncate(offset) => self.rig.ask(PartitionOp::TruncatePrefix { offset: (*offset).into() }),
            Step::Swap(ahead, end) => {
                let generation = self.model.generation + u64::from(*ahead);
                let body = swap_body(generation, &[input(0, (*end).into())], &[output(0, (*end).into())]);
                self.rig.prepare((LogOperation::Swap, body));
            }
            Step::DropGroup(id) => self.rig.ask(PartitionOp::DropGroupOffsets { id: (*id).into() }),
            Step::Fence(on) => self.rig.ask(PartitionOp::Fence { on: *on }),
            Step::Noop => self.rig.ask(PartitionOp::Noop),
            Step::Garbage(operation, body) => self.rig.prepare((*operation, body.clone())),
            Step::ChangeView(kept) => {
                let executed = usize::try_from(self.rig.partition.state().applied_op).expect("a short log");
                self.rig.change_view(executed + usize::from(*kept));
            }
            Step::Execute(count) => {
                for _ in 0..*count {
                    self.execute()?;
                }
            }
        }
        Ok(())
    }

    fn execute(&mut self) -> Result<(), TestCaseError> {
        let before = self.rig.partition.state().clone();
        let Some(applied) = self.rig.execute() else { return Ok(()) };
        let at = usize::try_from(before.applied_op).expect("a short log");
        let told = match &self.rig.log[at] {
            // The model takes only what a stamper made.
            (LogOperation::Batch, body) if body.len() < 256 => {
                PartitionReply::Rejected(ng_wire::replica::Rejection::Malformed)
            }
            entry => self.model.execute(entry),
        };
        prop_assert_eq!(PartitionReply::decode(&applied.clone().reply()), Ok(told));
        let state = self.rig.partition.state();
        if matches!(applied, Applied::Rejected(_)) {
            prop_assert_eq!(state, &PartitionState { applied_op: state.applied_op, ..before });
        } else {
            prop_assert!(state.last_timestamp >= before.last_timestamp);
        }
        self.agrees()
    }

    fn agrees(&self) -> Result<(), TestCaseError> {
        let (state, model) = (self.rig.partition.state(), &self.model);
        prop_assert_eq!(state.last_offset, model.last_offset());
        prop_assert_eq!(state.first_offset, model.first_offset);
        prop_assert_eq!((state.purge_generation, state.fenced), (model.generation, model.fenced));
        let mut consumers: Vec<_> = model.consumers.clone();
        consumers.sort_unstable();
        let kept: Vec<_> = state.offsets.iter().map(|((kind, id), offset)| (*kind, *id, *offset)).collect();
        prop_assert_eq!(kept, consumers);
        Ok(())
    }
}

fn world(steps: &[Step]) -> Result<World, TestCaseError> {
    let rig = Rig::new(Partition::new(GROUP, LIMITS));
    let mut world = World { rig, model: Model::default(), clock: 1, messages: 0 };
    for step in steps {
        world.step(step)?;
    }
    while world.rig.log.len() as u64 > world.rig.partition.state().applied_op {
        world.execute()?;
    }
    Ok(world)
}

/// Executes a log from `from` operations before the end of what the partition holds.
fn replay(partition: &mut Partition, log: &[(LogOperation, Vec<u8>)], from: usize) -> Vec<Applied> {
    let rest = (1..).zip(log).skip(from);
    rest.map(|(op, (operation, body))| partition.apply(op, *operation, body)).collect()
}

proptest! {
    #[test]
    fn a_partition_is_what_its_clients_were_told(steps in vec(step(), 0..80)) {
        world(&steps)?;
    }

    #[test]
    fn from_whatever_state_a_replay_begins_it_ends_the_same(
        steps in vec(step(), 0..60),
        cut in any::<prop::sample::Index>(),
        overlap in 0..5_usize,
    ) {
        let world = world(&steps)?;
        let log = &world.rig.log;
        let mut whole = Partition::new(GROUP, LIMITS);
        let told = replay(&mut whole, log, 0);
        prop_assert_eq!(&whole, &world.rig.partition);

        let cut = cut.index(log.len() + 1);
        let mut prefix = Partition::new(GROUP, LIMITS);
        replay(&mut prefix, &log[..cut], 0);
        let mut restored = Partition::restore(prefix.state().clone(), LIMITS);
        let from = cut.saturating_sub(overlap);
        let again = replay(&mut restored, log, from);
        prop_assert_eq!(&restored, &whole);
        let (repeated, new) = again.split_at(cut - from);
        prop_assert!(repeated.iter().all(|applied| *applied == Applied::AlreadyApplied));
        prop_assert_eq!(new, &told[cut..]);
    }
}
