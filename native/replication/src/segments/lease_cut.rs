//! Cuts of partitions for leases: the committed messages as files that remain even if the group is deleted.

use std::path::PathBuf;

use ng_io::Environment;
use ng_storage::store::{CutSegments, NoCut};

use crate::host::ShardLog;
use crate::machine::MetadataMachine;
use crate::outbox::Outgoing;

/// Outcome of a cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CutEnd {
    /// The segments have their second names.
    Done(CutSegments),
    /// The group is still recovering. The caller may try again.
    Busy,
    /// This shard has no such group.
    NoGroup,
    /// Committed messages cannot be written to segments for lack of space; with the cause in a sentence.
    Full(String),
    /// The group's files are damaged or could not be linked; with the cause in a sentence.
    Failed(String),
}

impl<E: Environment, M: MetadataMachine> ShardLog<E, M> {
    /// Links the segments of a partition, with all committed messages, into a directory. The outcome is
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
