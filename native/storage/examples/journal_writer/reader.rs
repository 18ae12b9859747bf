//! Finds what a journal holds, from the bytes that are on the disk.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs;

use ng_io::Environment;
use ng_storage::journal::SlotState;
use ng_storage::journal::recovery::Recovered;
use ng_storage::journal::shell::{JournalShell, file_name};
use ng_storage::record::{RecordHeader, RecordKind};

use crate::judge::Said;
use crate::order::{DRIVER, GROUPS, LIMITS, Obstacle, Order, disk};

/// What is on the disk.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) founded: bool,
    /// The identities that the bytes of the prepares have.
    pub(crate) ops: BTreeMap<(u64, u64), u128>,
    pub(crate) views: BTreeMap<u64, u64>,
    pub(crate) damage: Vec<String>,
}

/// Holds what is found against what was said.
pub(crate) fn judge<E: Environment>(environment: &E, order: &Order) -> Result<(), Obstacle> {
    let said = order.said()?;
    let complaints = said.complaints(&find(environment, order, &said)?);
    if complaints.is_empty() { Ok(()) } else { Err(Obstacle::Damage(complaints.join("\n"))) }
}

/// Recovers the journal as a start would, and appends nothing to it.
fn find<E: Environment>(environment: &E, order: &Order, said: &Said) -> Result<Found, Obstacle> {
    if !order.founded().exists() {
        return Ok(Found::default());
    }
    let mut driver = environment.driver(DRIVER).map_err(|error| disk(&error))?;
    let vouched = (said.ring(), u64::MAX);
    let (_, recovered) =
        JournalShell::recover(environment.clone(), &mut driver, order.home(), LIMITS, vouched, said.floors())
            .map_err(|error| disk(&error))?;
    let mut found = Found { founded: true, ..Found::default() };
    found.damage.extend(recovered.damage.iter().map(|damage| format!("{damage:?}")));
    found.views = GROUPS.iter().filter_map(|group| Some((*group, recovered.view(*group)?))).collect();
    found.read_ops(order, &recovered)?;
    Ok(found)
}

impl Found {
    fn read_ops(&mut self, order: &Order, recovered: &Recovered) -> Result<(), Obstacle> {
        let mut files: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
        for (group, op) in recovered.ops() {
            let Some(located) = recovered.locate(group, op) else { continue };
            let (SlotState::Present, Some(file)) = (located.state, located.file) else {
                self.damage.push(format!("op {op} of {group} is {:?}", located.state));
                continue;
            };
            if let Entry::Vacant(vacant) = files.entry(file) {
                let path = order.directory.join(file_name(file));
                vacant.insert(fs::read(path).map_err(|error| disk(&error))?);
            }
            let start = usize::try_from(located.offset).unwrap_or(usize::MAX);
            let end = start.saturating_add(located.length as usize);
            let body = files.get(&file).and_then(|file| file.get(start..end)).unwrap_or_default();
            let header =
                RecordHeader { op, view: located.view, ..RecordHeader::of(RecordKind::Prepare, group, body) };
            if header.checksum() != located.checksum {
                self.damage.push(format!("op {op} of {group} is not what the recovery says"));
            }
            self.ops.insert((group, op), header.checksum());
        }
        Ok(())
    }
}
