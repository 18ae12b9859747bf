//! What stands in front of the messages of a state that another node fetches.

use ng_storage::record_body::InstallBody;
use ng_storage::refusal::Refusal;
use ng_storage::segments_file::{SegmentEntry, SegmentsFile};
use ng_storage::store::{ExportPlan, sealed_bytes};

/// More than any segment has.
const SEGMENT_BYTES_MAX: u64 = 1 << 40;

/// Three lengths.
const FIXED: usize = 24;

/// The state of a group but for its messages, and which segments follow it.
#[derive(Debug)]
pub(super) struct TransferHead {
    /// As the install record will have it.
    pub(super) install: InstallBody,
    /// None for the metadata group.
    pub(super) list: Option<SegmentsFile>,
    /// Bytes of the batches in the unsealed segment.
    pub(super) unsealed: u64,
}

impl TransferHead {
    /// The head of a partition's state.
    pub(super) fn of(install: InstallBody, group: u64, plan: &ExportPlan) -> Self {
        let unsealed = plan.files.last().filter(|file| !file.entry.is_sealed()).map_or(0, |file| file.bytes);
        let list = SegmentsFile {
            node: 0,
            group,
            purge_generation: plan.generation,
            sequence: 1,
            first_op: 0,
            next_offset: if plan.files.is_empty() { plan.last_offset.map_or(0, |last| last + 1) } else { 0 },
            segments: plan.files.iter().map(|file| file.entry).collect(),
        };
        Self { install, list: Some(list), unsealed }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let install = self.install.encode();
        let list = self.list.as_ref().map(SegmentsFile::encode).unwrap_or_default();
        let mut bytes = Vec::with_capacity(FIXED + install.len() + list.len());
        for length in [install.len() as u64, list.len() as u64, self.unsealed] {
            bytes.extend_from_slice(&length.to_le_bytes());
        }
        bytes.extend_from_slice(&install);
        bytes.extend_from_slice(&list);
        bytes
    }

    /// How long the head is that begins with these bytes, if that is known already.
    pub(super) fn length(bytes: &[u8]) -> Option<u64> {
        let (install, list) = (number(bytes, 0)?, number(bytes, 1)?);
        Some(install.saturating_add(list).saturating_add(FIXED as u64))
    }

    /// Reads a whole head.
    pub(super) fn decode(bytes: &[u8]) -> Result<Option<Self>, Refusal> {
        let parts = (number(bytes, 0), number(bytes, 2), bytes.get(FIXED..));
        let (Some(install), Some(unsealed), Some(rest)) = parts else { return Ok(None) };
        let Some((install, list)) = usize::try_from(install).ok().and_then(|at| rest.split_at_checked(at))
        else {
            return Ok(None);
        };
        let install = InstallBody::decode(install)?;
        let list = if list.is_empty() { None } else { Some(SegmentsFile::decode(list)?) };
        let longest = list.iter().flat_map(|list| &list.segments).map(|entry| entry.bytes).max();
        let sane = longest.max(Some(unsealed)) <= Some(SEGMENT_BYTES_MAX);
        Ok(sane.then_some(Self { install, list, unsealed }))
    }

    /// The segments, each with all its bytes and those of its batches.
    pub(super) fn segments(&self) -> impl Iterator<Item = (SegmentEntry, u64, u64)> + '_ {
        let all = self.list.iter().flat_map(|list| &list.segments);
        all.map(|entry| match entry.is_sealed() {
            true => (*entry, sealed_bytes(entry), entry.bytes),
            false => (*entry, self.unsealed, self.unsealed),
        })
    }
}

fn number(bytes: &[u8], index: usize) -> Option<u64> {
    bytes.get(index * 8..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}
