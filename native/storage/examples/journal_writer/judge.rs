//! Compares what the writers of a journal promised with what is found.

use std::collections::{BTreeMap, BTreeSet};

use ng_storage::superblock::{Ring, SyncedBlock};

use crate::reader::Found;

/// Everything that the writers of one journal have said.
#[derive(Debug, Default)]
pub(crate) struct Said {
    founded: bool,
    acks: BTreeMap<(u64, u64), u128>,
    views: BTreeMap<u64, u64>,
    floors: BTreeMap<u64, u64>,
    /// Files that the journal has besides the first.
    further_files: u32,
    /// Acknowledged again as something else.
    replaced: BTreeSet<(u64, u64)>,
}

impl Said {
    /// Hears all lines. One that death cut short has no end, and promises nothing.
    pub(crate) fn of(text: &str) -> Self {
        let mut said = Self::default();
        for line in text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')) {
            said.hear(line);
        }
        said
    }

    fn hear(&mut self, line: &str) {
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["founded"] => self.founded = true,
            ["ack", group, op, identity] => {
                let identity = u128::from_str_radix(identity, 16).unwrap_or(0);
                let op = (number(group), number(op));
                if self.acks.insert(op, identity).is_some_and(|before| before != identity) {
                    self.replaced.insert(op);
                }
            }
            ["view", group, view] => {
                self.views.insert(number(group), number(view));
            }
            ["files", files] => self.further_files = files.parse().unwrap_or(1) - 1,
            ["floor", group, op] => {
                self.floors.insert(number(group), number(op));
            }
            _ => {}
        }
    }

    /// Up to which op each group is safe elsewhere, as a manifest would say.
    pub(crate) fn floors(&self) -> &BTreeMap<u64, u64> {
        &self.floors
    }

    /// The files of the journal, as a superblock would count them.
    pub(crate) fn ring(&self) -> Ring {
        Ring { files: 1 + self.further_files, synced: SyncedBlock::default() }
    }

    /// What was promised and is not so.
    pub(crate) fn complaints(&self, found: &Found) -> Vec<String> {
        let mut complaints: Vec<_> = found.damage.iter().map(|damage| format!("damage: {damage}")).collect();
        complaints.extend(self.replaced.iter().map(|op| format!("{op:?} was acknowledged as two things")));
        if self.founded && !found.founded {
            complaints.push("the journal was founded and is not there".to_owned());
        }
        for (op, identity) in &self.acks {
            let above = op.1 > self.floors.get(&op.0).copied().unwrap_or(0);
            let there = found.ops.get(op);
            if above && there != Some(identity) {
                complaints.push(format!("{op:?} was {identity:032x}, is {there:032x?}"));
            }
        }
        for (group, view) in &self.views {
            let there = found.views.get(group);
            if there.is_none_or(|there| there < view) {
                complaints.push(format!("group {group} was in view {view}, is in {there:?}"));
            }
        }
        complaints
    }
}

/// What is no number was not said by a writer, and is missed when it is looked for.
fn number(word: &str) -> u64 {
    word.parse().unwrap_or(u64::MAX)
}
