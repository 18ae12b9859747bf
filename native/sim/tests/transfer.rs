//! The messages of a partition come with its state, and the judge of segments sees when they do not.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ng_io::Chunk;
use ng_sim::judges::Messages;
use ng_sim::plan::{Draw, Fault, Plan};
use ng_sim::run::tell;
use ng_storage::home::Home;
use ng_storage::segments_file::{SegmentEntry, SegmentsFile};
use ng_wire::batch::{BatchBuilder, stamp};
use ng_wire::replica::{LogOperation, Op, PrepareHeader};

const GROUP: u64 = 0x1000;

/// Operations of which the messages fill three segments of a simulated node.
const THREE_SEGMENTS: u64 = 200;

#[test]
fn an_empty_disk_gets_every_message_of_several_segments() {
    let mut longest = 0;
    for seed in 1..=8 {
        let plan = Plan {
            faults: vec![Fault::Wipe],
            drops: false,
            bad_disk: Some(2),
            partitions: 1,
            registrants: 1,
            producers: 8,
            ..Plan::draw(Draw::Calm, seed, Some(3))
        };
        let (story, ended) = tell(&plan);
        ended.unwrap_or_else(|failure| panic!("seed {seed}: {}", failure.verdict));
        let told = "node 2 takes over the state of 1000 at op ";
        let ops = story.iter().filter_map(|line| line.split_once(told)?.1.parse::<u64>().ok());
        longest = longest.max(ops.max().unwrap_or(0));
    }
    assert!(longest > THREE_SEGMENTS, "the longest state ends with op {longest}");
}

/// Moment in milliseconds, node and op of each operation of the group that the story tells of.
fn executions(story: &[String]) -> Vec<(f64, u8, u64)> {
    let told = format!(" of {GROUP:x}");
    let executed = story.iter().filter_map(|line| {
        let (before, op) = line.strip_suffix(&told)?.split_once(" executes op ")?;
        let (moment, node) = before.trim().split_once(" node ")?;
        Some((moment.parse().ok()?, node.parse().ok()?, op.parse().ok()?))
    });
    executed.collect()
}

/// A state is always one of the past: what comes behind it must be had from somebody who still keeps it.
#[test]
fn an_empty_disk_catches_up_while_producers_go_on() {
    for (seed, rate) in (1..=4).flat_map(|seed| [60, 150, 400].map(|rate| (seed, rate))) {
        let plan = Plan {
            faults: vec![Fault::Wipe],
            drops: false,
            between_faults: 2_000,
            bad_disk: Some(2),
            partitions: 1,
            registrants: 1,
            producers: 60,
            rate,
            ..Plan::draw(Draw::Calm, seed, Some(3))
        };
        let (story, ended) = tell(&plan);
        ended.unwrap_or_else(|failure| panic!("seed {seed}, rate {rate}: {}", failure.verdict));
        let quiet = (plan.end - 4_000) as f64;
        let busy: Vec<_> = executions(&story).into_iter().filter(|(moment, ..)| *moment < quiet).collect();
        let last = |wanted: u8| busy.iter().filter(|(_, node, _)| *node == wanted).map(|(.., op)| *op).max();
        let (first, wiped) = (last(0).expect("it executes"), last(2).unwrap_or(0));
        assert!(first > 5 * rate, "seed {seed}, rate {rate}: the producers stand still: {first}");
        assert!(wiped + rate / 4 >= first, "seed {seed}, rate {rate}: {wiped} of {first}");
    }
}

fn batch(offset: u64) -> Arc<Chunk> {
    let mut bytes = BatchBuilder::new(1).message(u128::from(offset) + 1, 0, &[7; 900], &[]).finish();
    stamp(&mut bytes, GROUP, offset, 1_000 + offset).expect("a batch that was just built");
    Arc::new(bytes.into())
}

/// A judge that saw so many batches.
fn judge(count: u64) -> Messages {
    let mut messages = Messages::default();
    for op in 1..=count {
        let root = PrepareHeader::root(GROUP, 1);
        let header = PrepareHeader { op: Op(op), operation: LogOperation::Batch.code(), ..root };
        messages.executes(&header, &batch(op - 1), &[0; 16]);
    }
    messages
}

/// The files of a node that holds these batches in one segment.
fn files(batches: &[Arc<Chunk>]) -> BTreeMap<PathBuf, Vec<u8>> {
    let home = Home::new("data").group(GROUP);
    let entry = SegmentEntry {
        base_offset: 0,
        last_offset: u64::MAX,
        min_timestamp: 0,
        max_timestamp: 0,
        bytes: 0,
        messages: 0,
        generation: 0,
        footer: 0,
    };
    let segments = vec![entry];
    let listed = SegmentsFile {
        node: 1,
        group: GROUP,
        purge_generation: 0,
        sequence: 1,
        first_op: 1,
        next_offset: 0,
        segments,
        loose: Vec::new(),
        fences: Vec::new(),
    };
    let mut bytes: Vec<u8> = batches.iter().flat_map(|batch| batch.iter().copied()).collect();
    bytes.resize(bytes.len().next_multiple_of(4096), 0);
    BTreeMap::from([(home.segments(), listed.encode()), (home.segment(&entry), bytes)])
}

fn verdict(messages: &Messages, files: &BTreeMap<PathBuf, Vec<u8>>) -> Result<(), String> {
    let file = |path: &Path| files.get(path).cloned();
    messages.judge(0, GROUP, &Home::new("data"), file).map_err(|verdict| verdict.0)
}

#[test]
fn segments_that_hold_what_was_executed_are_right() {
    let all: Vec<_> = (0..6).map(batch).collect();
    assert_eq!(verdict(&judge(6), &files(&all)), Ok(()));
    assert_eq!(verdict(&judge(0), &BTreeMap::new()), Ok(()));
}

#[test]
fn segments_that_lack_or_add_or_change_a_batch_are_wrong() {
    let all: Vec<_> = (0..6).map(batch).collect();
    let messages = judge(6);
    for lacking in 0..6 {
        let mut some = all.clone();
        some.remove(lacking);
        verdict(&messages, &files(&some)).expect_err("a batch is missing");
    }
    verdict(&messages, &BTreeMap::new()).expect_err("all are missing");
    verdict(&judge(5), &files(&all)).expect_err("one was never executed");
    let mut other = all.clone();
    other[3] = {
        let mut bytes = BatchBuilder::new(1).message(77, 0, &[8; 900], &[]).finish();
        stamp(&mut bytes, GROUP, 3, 1_003).expect("a batch that was just built");
        Arc::new(bytes.into())
    };
    verdict(&messages, &files(&other)).expect_err("one is another");
    let mut rotten = files(&all);
    if let Some(bytes) = rotten.values_mut().find(|bytes| bytes.len() > 4096) {
        bytes[2_000] ^= 1;
    }
    verdict(&messages, &rotten).expect_err("one is no batch any more");
}

#[test]
fn of_messages_that_were_dropped_some_may_be_left() {
    let all: Vec<_> = (0..6).map(batch).collect();
    let mut messages = judge(6);
    let root = PrepareHeader::root(GROUP, 1);
    let header = PrepareHeader { op: Op(7), operation: LogOperation::TruncatePrefix.code(), ..root };
    let reply = [0_u64.to_le_bytes(), 4_u64.to_le_bytes()].concat();
    messages.executes(&header, &Arc::new(4_u64.to_le_bytes().to_vec().into()), &reply);
    for kept in [&all[..], &all[4..], &[&all[..2], &all[4..]].concat(), &[&all[2..3], &all[4..]].concat()] {
        assert_eq!(verdict(&messages, &files(kept)), Ok(()));
    }
    for wrong in [&all[5..], &all[..5], &[&all[4..], &all[..2]].concat()] {
        verdict(&messages, &files(wrong)).expect_err("it is not what was kept");
    }
}
