//! Damage of what was written long ago, or just now.

use std::path::{Path, PathBuf};

use ng_io::SimulatedEnvironment;
use ng_storage::PAGE;
use ng_storage::block::BlockHeader;

use crate::plan::Fault;
use crate::world::World;

/// Pages in front of the end of a journal, of which a fault picks one.
const RECENT_PAGES: u64 = 12;

impl World {
    /// Bits rot or sectors become unreadable on the bad disk; most often it is noticed at a restart, of that node or of all.
    pub(crate) fn rot(&mut self, until: u64) {
        let Some(bad) = self.plan.bad_disk else { return };
        let environment = self.nodes[usize::from(bad)].environment.clone();
        let names: Vec<_> = environment.file_names().into_iter().filter(|name| is_journal(name)).collect();
        if names.is_empty() {
            return;
        }
        for _ in 0..=self.random.below(3) {
            let (name, position) = self.rotten_place(&environment, &names);
            if self.random.flip() {
                environment.rot(&name, position, 1 << self.random.below(8));
            } else {
                environment.spoil(&name, position);
            }
        }
        match self.random.below(4) {
            0 => {}
            1 if self.plan.has(Fault::PowerCut) => self.black_out(until),
            _ => self.fell(bad, false, until),
        }
    }

    /// Anywhere in a journal, or shortly before its end: most of a ring counts no more, and that does.
    fn rotten_place(&mut self, environment: &SimulatedEnvironment, names: &[PathBuf]) -> (PathBuf, usize) {
        let name = &names[usize::try_from(self.random.below(names.len() as u64)).unwrap_or(0)];
        let recent = self.random.flip();
        let back = usize::try_from(self.random.below(RECENT_PAGES * PAGE as u64)).unwrap_or(0);
        if let Some((newest, end)) = end_of_journal(environment, names, name.parent()).filter(|_| recent) {
            return (newest, end.saturating_sub(back + 1));
        }
        let length = environment.file_bytes(name).map_or(0, |bytes| bytes.len());
        (name.clone(), usize::try_from(self.random.below(length as u64)).unwrap_or(0))
    }
}

/// The file of a journal that is written now, and where its last block ends.
fn end_of_journal(
    environment: &SimulatedEnvironment,
    names: &[PathBuf],
    directory: Option<&Path>,
) -> Option<(PathBuf, usize)> {
    let of_journal = names.iter().filter(|name| name.parent() == directory);
    let ends = of_journal.filter_map(|name| {
        let bytes = environment.file_bytes(name)?;
        let blocks = bytes.chunks(PAGE).filter_map(|page| BlockHeader::decode(page).ok());
        let (newest, _) = blocks.max_by_key(|(header, _)| header.sequence)?;
        let end = usize::try_from(newest.offset).ok()? + newest.bytes as usize;
        Some((newest.sequence, name.clone(), end.min(bytes.len())))
    });
    ends.max_by_key(|(sequence, ..)| *sequence).map(|(_, name, end)| (name, end))
}

fn is_journal(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("journal-"))
}
