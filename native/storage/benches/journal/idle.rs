//! What a group costs that nobody uses: an open record and a view record.

use std::sync::Arc;

use ng_storage::journal::recovery::Recovered;
use ng_storage::journal::{Effect, Event, PrepareJournal};
use ng_storage::record::{RecordHeader, RecordKind};
use ng_storage::record_body::{OpenBody, ViewBody};

use crate::bed::LIMITS;

const GROUPS: u64 = 100_000;

pub(crate) fn measure() {
    let mut effects = Vec::new();
    let mut journal = PrepareJournal::resume(5, 1, LIMITS, Recovered::empty(1), &mut effects);
    let before = resident();
    for group in 1..=GROUPS {
        let open = OpenBody { blank: false, replicas: vec![1, 2, 3] }.encode();
        append(&mut journal, RecordHeader::of(RecordKind::Open, group, &open), open, &mut effects);
        let view = ViewBody { view: 1, log_view: 1, commit: 0, head: 0, headers: Vec::new() }.encode();
        let header = RecordHeader { view: 1, ..RecordHeader::of(RecordKind::View, group, &view) };
        append(&mut journal, header, view, &mut effects);
    }
    journal.step(Event::Idle, &mut effects);
    settle(&mut journal, &mut effects);
    let bytes = resident().saturating_sub(before);
    println!("memory of an idle group with an open and a view record: {} bytes", bytes / GROUPS);
}

fn append(journal: &mut PrepareJournal, header: RecordHeader, body: Vec<u8>, effects: &mut Vec<Effect>) {
    journal.append(header, Arc::new(body.into())).expect("there is room");
    settle(journal, effects);
}

/// A disk that is done at once.
fn settle(journal: &mut PrepareJournal, effects: &mut Vec<Effect>) {
    journal.start(effects);
    while !effects.is_empty() {
        for effect in std::mem::take(effects) {
            let event = match effect {
                Effect::Write { buffer, .. } => Event::Written { buffer, result: Ok(()) },
                Effect::Sync { .. } => Event::Synced(Ok(())),
                Effect::Grow { .. } => Event::Grown(Ok(())),
                Effect::Enlist { .. } => Event::Enlisted,
                _ => continue,
            };
            journal.step(event, effects);
        }
        journal.start(effects);
    }
}

fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a figure");
    1024 * line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number")
}
