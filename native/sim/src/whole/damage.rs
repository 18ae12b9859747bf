//! Damage of one file of a whole node between two starts: the node repairs it, refuses what it held and says so, or does not start
//! and names the file.

use std::collections::BTreeSet;

use ng_shard::ending::Ending;

use super::audit;
use super::model::Place;
use super::reach::Reach;
use super::world::WholeWorld;
use crate::boot::home;
use crate::damage::{Cell, Choice, Done, Ending as DamageEnding, FileKind, Files, files_of, restore};
use crate::judges::Verdict;
use crate::node::MILLI;

/// Milliseconds after which what polls met is named.
const NAMED: u64 = 4_000;

impl WholeWorld {
    /// Stops the node, damages a file, and sees in two lives that nothing is lost in silence.
    pub(super) fn damage_and_read(&mut self) -> Result<Option<Cell>, Verdict> {
        let places = self.grouped_places();
        self.stop_in_order()?;
        // A segment of a lease is the file of the partition: what damages one damages the other.
        self.leases = None;
        let files = files_of(&self.environment);
        let damages = self.plan.damage.clone();
        let choice = Choice { damages: &damages, files: &files, older: &self.older, orderly: true };
        let Some(done) = choice.damage(&self.environment, &mut self.random) else {
            self.start()?;
            return audit::run(self).map(|()| None);
        };
        self.tell(|| format!("damage: {:?} of {:?}", done.damage, done.touched));
        let restored = self.start_damaged(&files, &done)?;
        if !restored {
            self.model.excused = excused(&places, &done);
        }
        let is_refused = self.read_damaged(&places)?;
        self.stop_in_order()?;
        self.start()?;
        let is_refused = self.read_damaged(&places)? || is_refused;
        let ending = match (restored, is_refused) {
            (true, _) => DamageEnding::Restored,
            (false, true) => DamageEnding::Fenced,
            (false, false) => DamageEnding::Repaired,
        };
        self.model.reached.saw(Reach::FileDamaged);
        Ok(Some(Cell { file_kind: done.file_kind, damage: done.damage, ending }))
    }

    /// The groups of all partitions that must be there.
    fn grouped_places(&self) -> Vec<(Place, u64)> {
        let group = |place: &Place| {
            let name = &self.model.topic(place.topic).name;
            self.process.as_ref()?.python.group_of(name, place.partition)
        };
        let places = self.model.places().into_iter();
        places.filter_map(|place| Some((place, group(&place)?))).collect()
    }

    /// Starts the node. Where it refuses a file the operator has a copy; whether that was needed.
    fn start_damaged(&mut self, files: &Files, done: &Done) -> Result<bool, Verdict> {
        let Err(ending) = self.launch() else { return Ok(false) };
        self.environment.kill();
        self.tell(|| format!("it does not start: {ending}"));
        if !names(&ending, done) {
            return Err(Verdict(format!("no damaged file of {:?} is named: {ending}", done.touched)));
        }
        restore(&self.environment, files);
        let started = self.launch();
        started.map_err(|ending| Verdict(format!("a copy of the files does not help: {ending}")))?;
        Ok(true)
    }

    /// Reads everything back. Whether anything is refused; then the node has said so.
    fn read_damaged(&mut self, places: &[(Place, u64)]) -> Result<bool, Verdict> {
        self.model.refused.clear();
        audit::run(self)?;
        let named = self.now + NAMED * MILLI;
        self.until(named, |_| false)?;
        let told = self.process.as_ref().map(|process| &process.python.damaged);
        let is_told = |group: &u64| told.is_some_and(|told| told.contains(group));
        for (place, group) in places.iter().filter(|(place, _)| self.model.refused.contains(place)) {
            if !is_told(group) {
                return Err(Verdict(format!(
                    "messages of {place:?} are refused, and nothing was told of it"
                )));
            }
        }
        Ok(!self.model.refused.is_empty())
    }
}

/// The partitions whose segments are damaged.
fn excused(places: &[(Place, u64)], done: &Done) -> BTreeSet<Place> {
    let is_of_segments =
        matches!(done.file_kind, FileKind::List | FileKind::Sealed | FileKind::Unsealed | FileKind::Index);
    let is_touched = |group: u64| {
        let directory = home().group(group).directory();
        is_of_segments && done.touched.iter().any(|path| path.parent() == Some(directory.as_path()))
    };
    places.iter().filter(|(_, group)| is_touched(*group)).map(|(place, _)| *place).collect()
}

/// Whether a refusal names a damaged file, or the directory that it is in.
fn names(ending: &Ending, done: &Done) -> bool {
    let said = ending.to_string();
    done.touched.iter().any(|path| {
        let directory = path.parent().map(|parent| parent.display().to_string());
        said.contains(&path.display().to_string()) || directory.is_some_and(|parent| said.contains(&parent))
    })
}
