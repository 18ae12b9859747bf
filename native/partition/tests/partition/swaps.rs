//! Swaps: which are executed, which are fenced off, and which are no swaps.

use ng_partition::{Applied, Effect, Partition};
use ng_wire::replica::{
    LogOperation, PartitionOp, PartitionReply, Rejection, SWAP_SEGMENTS_MAX, SwapInput, SwapOutput, swap_body,
};
use proptest::prelude::*;

use crate::rig::{Entry, GROUP, LIMITS, Rig};

pub(crate) const fn input(base_offset: u64, last_offset: u64) -> SwapInput {
    SwapInput { base_offset, last_offset, generation: 0, footer: 7 }
}

pub(crate) const fn output(base_offset: u64, last_offset: u64) -> SwapOutput {
    SwapOutput {
        base_offset,
        last_offset,
        min_timestamp: 1,
        max_timestamp: 2,
        bytes: 300,
        generation: 1,
        messages: 1,
        footer: 8,
    }
}

fn read(body: &[u8]) -> bool {
    match PartitionOp::decode(LogOperation::Swap, body) {
        Some(Ok(op)) => {
            assert_eq!(op.encode(), (LogOperation::Swap, body.to_vec()));
            true
        }
        found => {
            assert!(matches!(found, Some(Err(_))));
            false
        }
    }
}

#[test]
fn fields_stand_where_the_table_says() {
    let body = swap_body(3, &[input(10, 19)], &[output(10, 19)]);
    let mut expected = [3_u64.to_le_bytes().as_slice(), &1_u32.to_le_bytes(), &1_u32.to_le_bytes()].concat();
    expected.extend_from_slice(&[10_u64.to_le_bytes(), 19_u64.to_le_bytes(), [0; 8]].concat());
    expected.extend_from_slice(&7_u128.to_le_bytes());
    for field in [10_u64, 19, 1, 2, 300] {
        expected.extend_from_slice(&field.to_le_bytes());
    }
    expected.extend_from_slice(&[1_u32.to_le_bytes(), 1_u32.to_le_bytes()].concat());
    expected.extend_from_slice(&8_u128.to_le_bytes());
    assert_eq!(body, expected);
    let Some(Ok(PartitionOp::Swap(swap))) = PartitionOp::decode(LogOperation::Swap, &body) else {
        panic!("a good body")
    };
    assert_eq!((swap.generation, swap.first_ends()), (3, 19));
    assert!(swap.inputs().eq([input(10, 19)]) && swap.outputs().eq([output(10, 19)]));
}

#[test]
fn an_output_stands_for_a_run_of_whole_inputs() {
    let inputs = [input(0, 9), input(10, 19), input(30, 39)];
    let good: [&[SwapOutput]; 4] = [
        &[output(0, 39)],
        &[output(0, 19), output(30, 39)],
        &[output(0, 9), output(10, 39)],
        &[output(0, 9), output(10, 19), output(30, 39)],
    ];
    for outputs in good {
        assert!(read(&swap_body(0, &inputs, outputs)), "{outputs:?}");
    }
    let bad: [&[SwapOutput]; 9] = [
        &[],
        &[output(0, 9)],
        &[output(0, 40)],
        &[output(1, 39)],
        &[output(0, 15), output(16, 39)],
        &[output(0, 9), output(10, 39), output(40, 49)],
        &[SwapOutput { generation: 0, ..output(0, 39) }],
        &[SwapOutput { messages: 0, ..output(0, 39) }],
        &[SwapOutput { messages: 41, ..output(0, 39) }],
    ];
    for outputs in bad {
        assert!(!read(&swap_body(0, &inputs, outputs)), "{outputs:?}");
    }
    let bad: [&[SwapInput]; 6] = [
        &[],
        &[input(0, 20), input(20, 39)],
        &[input(10, 39), input(0, 9)],
        &[input(39, 0)],
        &[SwapInput { generation: 1, ..input(0, 39) }],
        &[input(0, u64::MAX)],
    ];
    for inputs in bad {
        let last = inputs.last().map_or(39, |input| input.last_offset);
        assert!(!read(&swap_body(0, inputs, &[output(0, last)])), "{inputs:?}");
    }
    let many: Vec<SwapInput> = (0..=SWAP_SEGMENTS_MAX as u64).map(|number| input(number, number)).collect();
    assert!(read(&swap_body(0, &many[1..], &[output(1, SWAP_SEGMENTS_MAX as u64)])));
    assert!(!read(&swap_body(0, &many, &[output(0, SWAP_SEGMENTS_MAX as u64)])));
}

#[test]
fn a_swap_of_what_is_gone_is_fenced_off() {
    let mut rig = Rig::new(Partition::new(GROUP, LIMITS));
    for id in 0..30 {
        rig.send([id], 1);
    }
    assert!(rig.execute_all().iter().all(|applied| matches!(applied, Applied::Done(_))));
    let front = swap_body(0, &[input(0, 9)], &[output(0, 9)]);
    let back = swap_body(0, &[input(10, 19)], &[output(10, 19)]);
    let mut execute = |entry: Entry| {
        rig.prepare(entry);
        rig.execute().expect("it was just prepared")
    };
    let swap = |body: &Vec<u8>| (LogOperation::Swap, body.clone());
    assert_eq!(execute(swap(&front)), Applied::Done(Effect::Swap));
    assert!(matches!(execute(PartitionOp::TruncatePrefix { offset: 10 }.encode()), Applied::Done(_)));
    assert_eq!(execute(swap(&front)), Applied::Rejected(Rejection::InputGone));
    assert_eq!(execute(swap(&back)), Applied::Done(Effect::Swap));
    assert!(matches!(execute(PartitionOp::Purge { generation: 1 }.encode()), Applied::Done(_)));
    assert_eq!(execute(swap(&back)), Applied::Rejected(Rejection::StaleGeneration));
    let reply = Applied::Rejected(Rejection::InputGone).reply();
    assert_eq!(PartitionReply::decode(&reply), Ok(PartitionReply::Rejected(Rejection::InputGone)));
}

proptest! {
    #[test]
    fn no_bytes_of_a_swap_make_it_panic(
        generation in 0..3_u64,
        inputs in 0..4_u32,
        outputs in 0..4_u32,
        rest in proptest::collection::vec(0..3_u8, 0..300),
    ) {
        let mut body = generation.to_le_bytes().to_vec();
        body.extend_from_slice(&inputs.to_le_bytes());
        body.extend_from_slice(&outputs.to_le_bytes());
        body.extend_from_slice(&rest);
        read(&body);
    }
}
