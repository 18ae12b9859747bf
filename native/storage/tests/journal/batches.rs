//! Prepares of batches, whose payload no body checksum covers: what is torn off is seen all the same.

use std::collections::BTreeMap;

use ng_storage::journal::{Position, Refused, SlotState};
use ng_storage::record::{BodyCheck, RecordHeader};
use ng_wire::batch::{build, stamp};

use crate::rig::{Rig, prepare};

const SEEDS: u64 = 150;
const OPS: u64 = 12;

/// A batch that crosses sectors and pages.
fn batch(op: u64) -> Vec<u8> {
    let payload = [op.to_le_bytes()[0]; 1_100];
    let mut batch = build(op, &[&payload, &payload, &payload]);
    stamp(&mut batch, 0, 3 * op, op).expect("a good batch");
    batch
}

fn header(op: u64, batch: &[u8]) -> RecordHeader {
    let body_check = BodyCheck::Batch;
    RecordHeader { body_checksum: body_check.checksum(batch), body_check, ..prepare(1, op, 1, batch) }
}

/// Appends a batch; lets the disk work while the journal is busy.
fn append(rig: &mut Rig, op: u64) -> Position {
    for _ in 0..200 {
        match rig.append(header(op, &batch(op)), batch(op)) {
            Err(Refused::Busy) => {
                rig.work(500_000);
            }
            other => return other.expect("room"),
        }
    }
    panic!("the journal stays busy");
}

#[test]
fn a_batch_is_read_back_as_it_was() {
    let mut rig = Rig::create(1);
    append(&mut rig, 1);
    rig.settle();
    assert_eq!(rig.read(1, 1), Some(batch(1)));
}

#[test]
fn a_power_cut_leaves_whole_batches_or_none() {
    let (mut present, mut absent) = (0, 0);
    for seed in 0..SEEDS {
        let mut rig = Rig::create(seed);
        let positions: Vec<_> = (1..=OPS)
            .map(|op| {
                let position = append(&mut rig, op);
                rig.work(seed * 700);
                position
            })
            .collect();
        let durable = rig.durable;
        rig.environment.cut_power();
        let found = rig.reopen(&BTreeMap::new());
        for (op, position) in (1..=OPS).zip(positions) {
            match found.recovered.locate(1, op) {
                Some(located) => {
                    assert_eq!(located.state, SlotState::Present, "seed {seed}, op {op}");
                    assert_eq!(found.body(1, op), Some(batch(op)), "seed {seed}, op {op}");
                    present += 1;
                }
                None => {
                    assert!(position.block > durable, "seed {seed}, op {op} was acknowledged");
                    absent += 1;
                }
            }
        }
    }
    assert!(present > 0 && absent > 0, "{present} batches were there and {absent} were not");
}
