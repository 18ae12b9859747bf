//! When a write ends with its own sync, and when writing and syncing go on side by side.

use std::sync::Arc;

use ng_storage::journal::recovery::Recovered;
use ng_storage::journal::{Effect, Event, Limits, PrepareJournal};

use crate::rig::{LIMITS, prepare};

/// What a journal wants of the disk, by name; its memory is given back at once.
fn wanted(effects: &mut Vec<Effect>) -> Vec<&'static str> {
    let name = |effect| match effect {
        Effect::Write { sync: true, .. } => "write and sync",
        Effect::Write { .. } => "write",
        Effect::Sync { .. } => "sync",
        Effect::Durable { .. } => "durable",
        _ => "",
    };
    let names = std::mem::take(effects).into_iter().map(name);
    names.filter(|name| !name.is_empty()).collect()
}

fn journal(effects: &mut Vec<Effect>) -> PrepareJournal {
    let limits = Limits { file_bytes: 1 << 20, ..LIMITS };
    let mut journal = PrepareJournal::resume(1, 1, limits, Recovered::empty(4), effects);
    written(&mut journal, effects);
    effects.clear();
    journal
}

fn written(journal: &mut PrepareJournal, effects: &mut Vec<Effect>) {
    journal.step(Event::Written { buffer: ng_io::Buffer::default().into(), result: Ok(()) }, effects);
    journal.start(effects);
}

fn synced(journal: &mut PrepareJournal, effects: &mut Vec<Effect>) {
    journal.step(Event::Synced(Ok(())), effects);
    journal.start(effects);
}

/// A record that fills most of a block, so that the next one does not fit it.
fn append(journal: &mut PrepareJournal, op: u64, effects: &mut Vec<Effect>) {
    let body = vec![7; LIMITS.block_bytes_target * 3 / 4];
    journal.append(prepare(1, op, 1, &body), Arc::new(body.into())).expect("room");
    journal.start(effects);
}

#[test]
fn a_block_that_nothing_waits_behind_is_synced_by_its_own_write() {
    let mut effects = Vec::new();
    let mut journal = journal(&mut effects);
    for op in 1..=3 {
        append(&mut journal, op, &mut effects);
        assert_eq!(wanted(&mut effects), ["write and sync"]);
        written(&mut journal, &mut effects);
        assert_eq!(wanted(&mut effects), ["durable"]);
    }
}

#[test]
fn a_block_is_written_while_the_one_before_it_is_synced() {
    let mut effects = Vec::new();
    let mut journal = journal(&mut effects);
    for op in 1..=4 {
        append(&mut journal, op, &mut effects);
    }
    assert_eq!(wanted(&mut effects), ["write and sync"], "the first found nothing under way");
    written(&mut journal, &mut effects);
    assert_eq!(wanted(&mut effects), ["durable", "write"], "two others wait behind the second");
    written(&mut journal, &mut effects);
    assert_eq!(wanted(&mut effects), ["sync", "write"]);
    synced(&mut journal, &mut effects);
    assert_eq!(wanted(&mut effects), ["durable"]);
    written(&mut journal, &mut effects);
    assert_eq!(wanted(&mut effects), ["sync", "write"], "the last does not wait for that sync");
    written(&mut journal, &mut effects);
    synced(&mut journal, &mut effects);
    assert_eq!(wanted(&mut effects), ["durable", "sync"]);
    synced(&mut journal, &mut effects);
    assert_eq!(wanted(&mut effects), ["durable"]);
    assert!(journal.is_quiet());
}

/// Once a record that was appended again to free its old file was looked for where the write of its block was still under way:
/// a node of its own read what was there before, took the record for lost, and ended.
#[test]
fn a_record_has_no_place_until_its_block_is_written() {
    let mut effects = Vec::new();
    let mut journal = journal(&mut effects);
    append(&mut journal, 1, &mut effects);
    assert_eq!(wanted(&mut effects), ["write and sync"]);
    let file = |journal: &PrepareJournal| journal.locate(1, 1).expect("it counts").file;
    assert_eq!(file(&journal), None);
    written(&mut journal, &mut effects);
    assert!(file(&journal).is_some());
}
