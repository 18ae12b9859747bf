//! Cuts of partitions: what a group has committed, as files that stay whatever becomes of the group.

use std::path::PathBuf;

use ng_io::Environment;
use ng_storage::store::{CutSegments, NoCut};

use crate::host::ShardLog;
use crate::machine::MetadataMachine;
use crate::outbox::Outgoing;

/// What came of a cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CutEnd {
    /// Its segments have their names.
    Done(CutSegments),
    /// The group is not past its beginning. It may be asked for again.
    Busy,
    /// This shard has no such group.
    NoGroup,
    /// What the group has committed cannot be written out for now. Why, in a sentence.
    Full(String),
    /// The group's files are not what they must be, or could not be given names. Why, in a sentence.
    Failed(String),
}

impl<E: Environment, M: MetadataMachine> ShardLog<E, M> {
    /// Gives the segments of a partition, with all that it has committed, names in a directory:
    /// [`Outgoing::Cut`].
    pub fn cut(&mut self, asker: u64, group: u64, directory: PathBuf) {
        let early = match self.groups.get(&group) {
            None => Some(CutEnd::NoGroup),
            Some(_) if !self.is_settled(group) => Some(CutEnd::Busy),
            Some(_) => None,
        };
        if let Some(end) = early {
            self.outbox.push(Outgoing::Cut { asker, group, end });
            return;
        }
        self.open_segments(group);
        let executed = self.groups.get(&group).map_or(0, |group| group.execution.executed().0);
        self.segments.order(|store, effects| store.cut(group, asker, executed, directory, effects));
    }

    pub(crate) fn cut_ended(&mut self, group: u64, asker: u64, result: Result<CutSegments, NoCut>) {
        let end = match result {
            Ok(segments) => CutEnd::Done(segments),
            Err(NoCut::Gone) => CutEnd::NoGroup,
            Err(NoCut::Damaged(damage)) => CutEnd::Failed(damage.to_string()),
            Err(NoCut::Full(fault)) => CutEnd::Full(fault.to_string()),
            Err(NoCut::Unnamed(fault)) => CutEnd::Failed(fault.to_string()),
        };
        self.outbox.push(Outgoing::Cut { asker, group, end });
    }
}
