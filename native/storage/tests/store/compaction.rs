//! What an offline job does: segments rewritten to the messages that survive, sealed, synced, beside the group.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ng_io::{Driver, DriverLimits, Environment, SimulatedEnvironment, Wait};
use ng_storage::PAGE;
use ng_storage::columns::{Stop, Walk};
use ng_storage::footer::{Footer, digests};
use ng_storage::home::Home;
use ng_storage::rewrite::rewrite;
use ng_storage::segments_file::{SegmentEntry, SegmentsFile};
use ng_storage::store::plan::{Plan, Step};
use ng_storage::store::shell::PlanShell;
use ng_storage::store::{Staging, SwapOrder};
use ng_wire::batch::BatchHeader;
use ng_wire::replica::{SwapInput, SwapOutput};

/// The list of a group as it is on the disk.
pub(crate) fn list(environment: &SimulatedEnvironment, home: &Home, group: u64) -> SegmentsFile {
    let bytes = environment.file_bytes(&home.group(group).segments()).expect("there is a list");
    SegmentsFile::decode(&bytes).expect("a list is replaced as a whole")
}

/// What is known of a segment that goes.
pub(crate) const fn input(entry: &SegmentEntry) -> SwapInput {
    let SegmentEntry { base_offset, last_offset, generation, footer, .. } = *entry;
    SwapInput { base_offset, last_offset, generation, footer }
}

/// Writes one segment for each run of segments, with the messages that `keeps` names, into a directory that is made.
pub(crate) fn compact(
    environment: &SimulatedEnvironment,
    (home, group): (&Home, u64),
    runs: &[&[SegmentEntry]],
    directory: &Path,
    keeps: impl Fn(u64) -> bool,
) -> Staging {
    environment.make_directories(directory).expect("a healthy disk");
    let mut order = SwapOrder {
        generation: list(environment, home, group).purge_generation,
        inputs: Vec::new(),
        outputs: Vec::new(),
    };
    let mut plan = Plan::new();
    for run in runs {
        order.inputs.extend(run.iter().map(input));
        let batches: Vec<u8> =
            run.iter().flat_map(|entry| survivors(environment, (home, group), entry, &keeps)).collect();
        let (bytes, output) = seal(group, run, batches);
        let path = directory.join(entry_of(&output).file_name());
        plan.push(Step::Remove(path.clone()));
        plan.push(Step::Write { path: path.clone(), offset: 0, buffer: bytes.into(), batches: false });
        plan.push(Step::Sync { path, batches: false });
        order.outputs.push(output);
    }
    plan.push(Step::SyncDirectory(directory.to_owned()));
    perform(environment, plan);
    Staging { order, directory: directory.to_owned() }
}

/// The entry that a list has of an output.
pub(crate) const fn entry_of(output: &SwapOutput) -> SegmentEntry {
    SegmentEntry {
        base_offset: output.base_offset,
        last_offset: output.last_offset,
        min_timestamp: output.min_timestamp,
        max_timestamp: output.max_timestamp,
        bytes: output.bytes,
        messages: output.messages,
        generation: output.generation,
        footer: output.footer,
    }
}

/// The batches of a segment with the messages that are kept.
fn survivors(
    environment: &SimulatedEnvironment,
    (home, group): (&Home, u64),
    entry: &SegmentEntry,
    keeps: impl Fn(u64) -> bool,
) -> Vec<u8> {
    let bytes = environment.file_bytes(&home.group(group).segment(entry)).expect("it is listed");
    let kept: Vec<u8> = (entry.base_offset..=entry.last_offset)
        .filter(|offset| keeps(*offset))
        .flat_map(u64::to_le_bytes)
        .collect();
    let mut written = Vec::new();
    let walk = Walk { valid: entry.bytes, after: entry.base_offset, partition: 0, hashed: true };
    let rewritten = rewrite(&bytes, &walk, &kept, &mut written);
    assert_eq!(rewritten.stop, Stop::End);
    written
}

fn seal(group: u64, run: &[SegmentEntry], batches: Vec<u8>) -> (Vec<u8>, SwapOutput) {
    let (first, last) = (run.first().expect("a run"), run.last().expect("a run"));
    let headers = headers(&batches);
    let time = headers.iter().map(|header| header.base_timestamp);
    let mut footer = Footer {
        group,
        base_offset: first.base_offset,
        last_offset: last.last_offset,
        messages: headers.iter().map(|header| u64::from(header.count)).sum(),
        first_op: 0,
        last_op: 0,
        bytes: batches.len() as u64,
        min_timestamp: time.clone().min().expect("a survivor"),
        max_timestamp: time.max().expect("a survivor"),
        generation: run.iter().map(|entry| entry.generation).max().unwrap_or(0) + 1,
        digests: digests(&batches),
    };
    let (encoded, checksum) = footer.encode();
    footer.digests.clear();
    let mut bytes = batches;
    bytes.resize(bytes.len().next_multiple_of(PAGE), 0);
    bytes.extend_from_slice(&encoded);
    bytes.resize(bytes.len().next_multiple_of(PAGE), 0);
    let output = SwapOutput {
        base_offset: footer.base_offset,
        last_offset: footer.last_offset,
        min_timestamp: footer.min_timestamp,
        max_timestamp: footer.max_timestamp,
        bytes: footer.bytes,
        generation: footer.generation,
        messages: u32::try_from(footer.messages).expect("a small segment"),
        footer: checksum,
    };
    (bytes, output)
}

fn headers(mut batches: &[u8]) -> Vec<BatchHeader> {
    let mut found = Vec::new();
    while !batches.is_empty() {
        let header = BatchHeader::decode(batches).expect("a batch that was just picked");
        batches = &batches[usize::try_from(header.length).expect("a short batch")..];
        found.push(header);
    }
    found
}

/// Does work of another process on the same machine.
fn perform(environment: &SimulatedEnvironment, plan: Plan) {
    let limits = DriverLimits { operations_max: 4, handles_max: 8 };
    let mut driver = environment.driver(limits).expect("a driver");
    let mut shell = PlanShell::new(1, 1, 4, false);
    shell.start(&mut driver, 0, plan);
    loop {
        let mut completions = Vec::new();
        let soon = driver.now() + Duration::from_millis(5);
        driver.complete(Wait::Until(soon), &mut completions).expect("it lives");
        for completion in completions {
            if let Some((_, result)) = shell.completed(&mut driver, completion) {
                result.expect("a healthy disk");
                return;
            }
        }
    }
}

/// The names of the segments that lie in a group's directory, whether they count or not.
pub(crate) fn segments_there(environment: &SimulatedEnvironment, home: &Home, group: u64) -> Vec<PathBuf> {
    let directory = home.group(group).directory();
    let names = environment.file_names().into_iter().filter(|path| path.starts_with(&directory));
    names.filter(|path| path.extension().is_some_and(|extension| extension == "log")).collect()
}
