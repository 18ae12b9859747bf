//! Files of segments that no list names any more: a crash came between the list that dropped them and their removal.
//!
//! Only a start looks for them, before anything else of the group is touched, and only where messages were ever dropped. What
//! lies beyond the list may be newer than it, and stays: unless the list is of a later purge generation than the manifest's.
//! A manifest of the same one was written after the files of that purge were gone.

use std::collections::{BTreeMap, BTreeSet};

use ng_io::Environment;
use ng_wire::replica::LogOperation;

use crate::boot::Hands;
use crate::home::Home;
use crate::journal::recovery::{Recovered, RecoveredGroup};
use crate::manifest::GroupEntry;
use crate::segments_file::SegmentsFile;
use crate::store::plan::Step;

/// What the names of a segment's files end with.
const ENDINGS: [&str; 3] = [".log", ".index", ".index.new"];

/// Removes such files of every group of a shard. What cannot be read or removed now is left to the next start.
pub(crate) fn sweep_shard<E: Environment>(
    hands: &mut Hands<'_, E>,
    home: &Home,
    node: u128,
    entries: &[GroupEntry],
    recovered: &Recovered,
) {
    let mut generations: BTreeMap<u64, u64> =
        recovered.found().filter(|group| has_dropped(group)).map(|group| (group.group, 0)).collect();
    for entry in entries {
        if entry.first_offset > 0 || entry.purge_generation > 0 || generations.contains_key(&entry.group) {
            generations.insert(entry.group, entry.purge_generation);
        }
    }
    for (group, generation) in generations {
        sweep_group(hands, home, node, (group, generation));
    }
}

/// Removes such files of one group, of which a manifest vouches for the purge generation.
fn sweep_group<E: Environment>(
    hands: &mut Hands<'_, E>,
    home: &Home,
    node: u128,
    (group, generation): (u64, u64),
) {
    let home = home.group(group);
    let Ok(Some(bytes)) = hands.read(home.segments()) else { return };
    let Ok(names) = hands.names(&home.directory()) else { return };
    let own = |listed: &SegmentsFile| listed.node == node && listed.group == group;
    let Some(listed) = SegmentsFile::decode(&bytes).ok().filter(own) else { return };
    let left = left_behind(&listed, generation, &names);
    // The list may have its name in the memory of a process that was killed alone: before what it replaced goes it must stay.
    let mut plan = vec![Step::SyncDirectory(home.directory())];
    plan.extend(left.map(|name| Step::Remove(home.directory().join(name))));
    if plan.len() > 1 {
        // One that fails is tried again by the next start.
        hands.run(plan).ok();
    }
}

/// Whether the journal knows of messages of a group that went, or came as a state.
fn has_dropped(group: &RecoveredGroup) -> bool {
    let drops = |operation| matches!(operation, LogOperation::Purge | LogOperation::TruncatePrefix);
    let mut operations = group.prepares.iter().map(|prepare| prepare.header.operation);
    group.install.is_some() || operations.any(|code| LogOperation::from_code(code).is_some_and(drops))
}

/// The names of files in a group's directory that belong to no segment of the list, and are older than it.
fn left_behind<'a>(
    listed: &SegmentsFile,
    generation: u64,
    names: &'a [String],
) -> impl Iterator<Item = &'a String> {
    // What is loose may be what a swap in the journal is about to make a segment of.
    let named = listed.segments.iter().chain(&listed.loose);
    let stems: BTreeSet<String> = named.map(|entry| stem(&entry.file_name())).collect();
    let first = listed.segments.first().map_or(listed.next_offset, |entry| entry.base_offset);
    let was_purged = listed.purge_generation > generation;
    names.iter().filter(move |name| {
        let stem = stem(name);
        base_offset(&stem).is_some_and(|base| was_purged || base < first) && !stems.contains(&stem)
    })
}

/// The name of a segment's file without its ending; empty if it is none.
fn stem(name: &str) -> String {
    ENDINGS.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or_default().to_owned()
}

/// The base offset that the name of a segment's files begins with: `<base>` or `<base>.<generation>`.
fn base_offset(stem: &str) -> Option<u64> {
    let (base, generation) = stem.split_once('.').unwrap_or((stem, "1"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_ours =
        base.len() == 20 && is_number(base) && is_number(generation) && !generation.starts_with('0');
    base.parse().ok().filter(|_| is_ours)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segments_file::SegmentEntry;

    fn listed(purge_generation: u64, next_offset: u64, bases: &[u64]) -> SegmentsFile {
        let entry = |base: &u64| SegmentEntry {
            base_offset: *base,
            last_offset: u64::MAX,
            min_timestamp: 0,
            max_timestamp: 0,
            bytes: 0,
            messages: 0,
            generation: 0,
            footer: 0,
        };
        let segments = bases.iter().map(entry).collect();
        SegmentsFile {
            node: 1,
            group: 7,
            purge_generation,
            sequence: 1,
            first_op: 0,
            next_offset,
            segments,
            loose: Vec::new(),
            fences: Vec::new(),
        }
    }

    fn left(listed: &SegmentsFile, generation: u64, names: &[&str]) -> Vec<String> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        left_behind(listed, generation, &names).cloned().collect()
    }

    const OLD: &str = "00000000000000000010.log";
    const OLD_INDEX: &str = "00000000000000000010.index";
    const COMPACTED: &str = "00000000000000000010.2.log";
    const KEPT: &str = "00000000000000000020.log";
    const NEWER: &str = "00000000000000000030.log";

    #[test]
    fn what_lies_before_the_list_goes() {
        let all = [OLD, OLD_INDEX, "00000000000000000010.index.new", COMPACTED, KEPT, NEWER];
        assert_eq!(left(&listed(0, 0, &[20]), 0, &all), all[..4]);
        assert_eq!(left(&listed(3, 30, &[]), 3, &all), all[..5], "nothing is left of the generation");
    }

    #[test]
    fn what_lies_beyond_the_list_goes_only_after_a_purge() {
        assert_eq!(left(&listed(2, 0, &[20]), 2, &[KEPT, NEWER]), [""; 0]);
        assert_eq!(left(&listed(2, 0, &[20]), 1, &[KEPT, NEWER]), [NEWER]);
        assert_eq!(left(&listed(2, 0, &[]), 1, &[OLD, KEPT, NEWER]), [OLD, KEPT, NEWER]);
    }

    #[test]
    fn what_is_loose_may_be_needed_by_the_journal_yet() {
        let mut listed = listed(2, 0, &[20]);
        let loose = SegmentEntry { base_offset: 10, generation: 2, ..listed.segments[0] };
        listed.loose = vec![loose];
        assert_eq!(left(&listed, 1, &[OLD, COMPACTED, KEPT]), [OLD]);
    }

    #[test]
    fn other_names_stay() {
        let others = [
            "SEGMENTS",
            "SEGMENTS.new",
            "state-00000000000000000001",
            "10.log",
            "00000000000000000010",
            "00000000000000000010.parquet",
            "00000000000000000010.02.log",
            "00000000000000000010.x.log",
            "000000000000000000+1.log",
            ".log",
        ];
        assert_eq!(left(&listed(2, 100, &[]), 1, &others), [""; 0]);
    }
}
