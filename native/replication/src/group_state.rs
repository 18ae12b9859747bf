//! Encodes the state of a group without its messages, for manifests, install records and transfers.

use ng_partition::{Gaps, Partition, PartitionLimits, PartitionState};
use ng_storage::manifest::{GroupEntry, StoredOffset};
use ng_storage::metadata_state::MetadataState;
use ng_storage::record::RecordHeader;
use ng_vsr::{ClientLimits, ClientTable};
use ng_wire::replica::{ConsumerKind, PrepareHeader};

/// The manifest entry of a partition.
pub(crate) fn entry_of(partition: &Partition, anchor: &PrepareHeader) -> GroupEntry {
    let state = partition.state();
    let offsets = state.offsets.iter().map(|((kind, id), offset)| StoredOffset {
        kind: kind.code(),
        id: *id,
        offset: *offset,
    });
    GroupEntry {
        group: state.group,
        last_offset: state.last_offset.unwrap_or(u64::MAX),
        purge_generation: state.purge_generation,
        first_offset: state.first_offset,
        fenced: state.fenced,
        skipped_to: state.skipped_to,
        anchor: (*anchor).into(),
        offsets: offsets.collect(),
        gaps: state.gaps.iter().collect(),
        list_sequence: 0,
        unsealed: None,
    }
}

/// The partition of a manifest entry. Its clock starts at the time of the last operation, so that no later
/// batch gets an earlier timestamp.
pub(crate) fn partition_at(entry: &GroupEntry, limits: PartitionLimits) -> Partition {
    let stored = entry
        .offsets
        .iter()
        .filter_map(|stored| Some(((ConsumerKind::from_code(stored.kind)?, stored.id), stored.offset)));
    let state = PartitionState {
        group: entry.group,
        applied_op: entry.anchor.op,
        last_offset: (entry.last_offset != u64::MAX).then_some(entry.last_offset),
        first_offset: entry.first_offset,
        last_timestamp: entry.anchor.timestamp,
        purge_generation: entry.purge_generation,
        fenced: entry.fenced,
        skipped_to: entry.skipped_to,
        gaps: Gaps::kept(entry.gaps.clone()),
        offsets: stored.collect(),
    };
    Partition::restore(state, limits)
}

/// The state of the metadata group after an operation.
pub(crate) fn metadata_state(
    anchor: &PrepareHeader,
    clients: &ClientTable,
    machine: Vec<u8>,
) -> MetadataState {
    let mut table = Vec::new();
    clients.encode(&mut table);
    MetadataState { group: anchor.group, op: anchor.op.0, chain: anchor.checksum, clients: table, machine }
}

/// The client table and the machine's bytes of a state, if the state belongs to this operation.
pub(crate) fn metadata_at(
    bytes: &[u8],
    anchor: &RecordHeader,
    limits: ClientLimits,
) -> Option<(ClientTable, Vec<u8>)> {
    let state = MetadataState::decode(bytes).ok().filter(|state| state.chain == anchor.checksum())?;
    Some((ClientTable::decode(&state.clients, limits).ok()?, state.machine))
}
