//! One value of each structure, every field different, as the golden files hold them.

use ng_io::{Buffer, Output};
use ng_storage::PAGE;
use ng_storage::block::{self, BlockHeader};
use ng_storage::checksum::checksum;
use ng_storage::footer::{Footer, digests};
use ng_storage::home::METADATA_GROUP;
use ng_storage::index::{Index, IndexEntry};
use ng_storage::layout::{JournalName, Layout, Member};
use ng_storage::manifest::{GroupEntry, Manifest, StoredOffset, UnsealedSegment};
use ng_storage::metadata_state::MetadataState;
use ng_storage::record::{Level, RecordHeader, RecordKind};
use ng_storage::record_body::{InstallBody, LostBlocks, MarkBody, OpenBody, Standing, ViewBody};
use ng_storage::segments_file::{Fence, SegmentEntry, SegmentsFile};
use ng_storage::superblock::{Genesis, ManifestPointer, Ring, Superblock, SyncedBlock};
use ng_wire::batch::{BatchBuilder, stamp};

pub(crate) const CLUSTER: u128 = 0x0102_0304_0506_0708_090a_0b0c_0d0e_0f10;
pub(crate) const NODE: u128 = 0x1112_1314_1516_1718_191a_1b1c_1d1e_1f20;
pub(crate) const JOURNAL: u128 = 0x2122_2324_2526_2728_292a_2b2c_2d2e_2f30;

pub(crate) fn layout() -> Layout {
    let journals = vec![JournalName { epoch: 1, shard: 0 }, JournalName { epoch: 2, shard: 0 }];
    let member = Member { number: 1, count: 3 };
    Layout { cluster: CLUSTER, node: NODE, member, epoch: 2, shard_count: 1, journals }
}

pub(crate) fn superblock() -> Superblock {
    Superblock {
        cluster: CLUSTER,
        node: NODE,
        member: Member { number: 1, count: 3 },
        journal: JOURNAL,
        epoch: 2,
        shard: 3,
        shard_count: 4,
        clean: true,
        sequence: 17,
        parent: 0x3132,
        incarnation: 5,
        manifest: ManifestPointer { sequence: 9, checksum: 0x4142 },
        journal_file_bytes: 1 << 22,
        ring: Ring { files: 6, synced: SyncedBlock { sequence: 88, checksum: 0x7172, file: 4 } },
        genesis: Genesis {
            frame_bytes_max: 1 << 20,
            pipeline_depth: 8,
            client_table_slots: 1024,
            consumer_offsets_max: 4096,
        },
    }
}

pub(crate) fn superblock_file(first: &Superblock, second: &Superblock) -> Vec<u8> {
    let mut file = first.encode_half(0);
    file.extend_from_slice(&second.encode_half(2));
    file
}

pub(crate) fn prepare(group: u64, op: u64, body: &[u8]) -> RecordHeader {
    RecordHeader {
        parent: 0x5152 + u128::from(op),
        client: 0x6162,
        op,
        view: 3,
        request: 40 + op,
        timestamp: 1_700_000_000_000_000 + op,
        commit: op - 1,
        level: Level::Persisted,
        operation: 202,
        epoch: 1,
        ..RecordHeader::of(RecordKind::Prepare, group, body)
    }
}

fn plain(kind: RecordKind, group: u64, op: u64, view: u64, body: Vec<u8>) -> (RecordHeader, Vec<u8>) {
    (RecordHeader { op, view, ..RecordHeader::of(kind, group, &body) }, body)
}

pub(crate) fn records() -> Vec<(RecordHeader, Vec<u8>)> {
    let bodies = [b"the first body".to_vec(), vec![0xab; 5_000]];
    let prepares = [prepare(7, 11, &bodies[0]), prepare(7, 12, &bodies[1])];
    let view =
        ViewBody { view: 4, log_view: 3, commit: 10, head: 12, headers: vec![prepares[1], prepares[0]] };
    let open = OpenBody { blank: false, replicas: vec![NODE, NODE + 1, NODE + 2] };
    let install = InstallBody { anchor: prepare(8, 30, b"installed"), state: b"a state".to_vec() };
    let lost = |first, last, standing| LostBlocks { first, last, standing };
    let mark = MarkBody { lost: vec![lost(3, 3, Standing::Proven), lost(6, 70, Standing::Skipped)] };
    let [first, second] = bodies;
    vec![
        plain(RecordKind::Open, 7, 0, 0, open.encode()),
        (prepares[0], first),
        (prepares[1], second),
        plain(RecordKind::View, 7, 0, 4, view.encode()),
        plain(RecordKind::Install, 8, 30, 4, install.encode()),
        plain(RecordKind::Close, 9, 12, 4, Vec::new()),
        plain(RecordKind::Mark, 0, 0, 0, mark.encode()),
    ]
}

pub(crate) fn block(header: BlockHeader, records: &[(RecordHeader, Vec<u8>)]) -> (Buffer, BlockHeader, u128) {
    let mut directory = Vec::new();
    for (record, _) in records {
        record.encode(&mut directory);
    }
    let bodies = records.iter().map(|(_, body)| body.as_slice());
    let mut bytes = Output::from(block::lay_out(&directory, bodies, Buffer::default()));
    let (header, checksum) = block::seal(&mut bytes, records.len(), header, &mut Vec::new());
    (bytes.into_buffer().expect("it was laid out in a buffer"), header, checksum)
}

/// Two blocks of records, then a mark, then unwritten space.
pub(crate) fn journal() -> Vec<u8> {
    let records = records();
    let mut header = BlockHeader {
        journal: JOURNAL,
        previous: 0,
        sequence: 71,
        incarnation: 5,
        synced_through: 5,
        oldest: 2,
        offset: 0,
        file: 1,
        bytes: 0,
        records: 0,
        previous_file: 0,
        directory_checksum: 0,
    };
    let mut file = Vec::new();
    for part in [&records[..3], &records[3..], &[]] {
        header.offset = file.len() as u64;
        let (bytes, _, checksum) = block(header, part);
        file.extend_from_slice(&bytes);
        header.previous = checksum;
        header.previous_file = 1;
        header.synced_through = header.sequence;
        header.sequence += 1;
    }
    file.resize(file.len() + 2 * PAGE, 0);
    file
}

pub(crate) fn manifest() -> Manifest {
    let offsets =
        vec![StoredOffset { kind: 1, id: 5, offset: 77 }, StoredOffset { kind: 2, id: 1, offset: 70 }];
    let first = GroupEntry {
        group: 7,
        last_offset: 99,
        purge_generation: 2,
        first_offset: 40,
        fenced: true,
        skipped_to: 0,
        anchor: prepare(7, 11, b"the first body"),
        offsets,
        gaps: Vec::new(),
        list_sequence: 3,
        unsealed: Some(unsealed()),
    };
    let second = GroupEntry {
        group: 8,
        last_offset: u64::MAX,
        purge_generation: 2,
        first_offset: 0,
        fenced: false,
        skipped_to: 0,
        anchor: prepare(8, 11, b"another body"),
        offsets: Vec::new(),
        gaps: Vec::new(),
        list_sequence: 0,
        unsealed: None,
    };
    Manifest { node: NODE, sequence: 9, shard: 3, groups: vec![first, second] }
}

fn unsealed() -> UnsealedSegment {
    UnsealedSegment {
        base_offset: 90,
        last_offset: 99,
        bytes: 4_000,
        messages: 10,
        min_timestamp: 1_700_000_000_000_000,
        max_timestamp: 1_700_000_000_000_900,
        last_batch: 3_500,
        first_checksum: 0x1234_5678,
        last_checksum: 0xabcd_ef01,
    }
}

/// A stamped batch of messages with these payloads.
pub(crate) fn batch(base_offset: u64, timestamp: u64, payloads: &[&[u8]]) -> Vec<u8> {
    let empty = BatchBuilder::new(timestamp - 5);
    let numbered = (1_u32..).zip(payloads);
    let mut bytes = numbered
        .fold(empty, |batch, (id, payload)| batch.message(id.into(), 3 * (id - 1), payload, &[]))
        .finish();
    stamp(&mut bytes, 0, base_offset, timestamp).expect("a good batch");
    bytes
}

/// Batches that cross a page, padding, and the footer.
pub(crate) fn segment() -> Vec<u8> {
    let mut file = batch(100, 1_700_000_000_000_000, &[b"hello", b"world"]);
    file.extend_from_slice(&batch(102, 1_700_000_000_000_500, &[&[0x5a; 4_000]]));
    file.extend_from_slice(&batch(110, 1_700_000_000_000_900, &[b"after a gap"]));
    let (footer, _) = footer(&file).encode();
    file.resize(file.len().next_multiple_of(PAGE), 0);
    file.extend_from_slice(&footer);
    file.resize(file.len().next_multiple_of(PAGE), 0);
    file
}

pub(crate) fn footer(batches: &[u8]) -> Footer {
    Footer {
        group: 7,
        base_offset: 100,
        last_offset: 110,
        messages: 4,
        first_op: 11,
        last_op: 13,
        bytes: batches.len() as u64,
        min_timestamp: 1_700_000_000_000_000,
        max_timestamp: 1_700_000_000_000_900,
        generation: 0,
        digests: digests(batches),
    }
}

pub(crate) fn segments_file() -> SegmentsFile {
    let sealed = SegmentEntry {
        base_offset: 100,
        last_offset: 110,
        min_timestamp: 1_700_000_000_000_000,
        max_timestamp: 1_700_000_000_000_900,
        bytes: 5_037,
        messages: 9,
        generation: 2,
        footer: checksum(b"a footer"),
    };
    let open = SegmentEntry {
        base_offset: 111,
        last_offset: u64::MAX,
        bytes: 0,
        messages: 0,
        generation: 0,
        footer: 0,
        ..sealed
    };
    SegmentsFile {
        node: NODE,
        group: 7,
        purge_generation: 2,
        sequence: 3,
        first_op: 0,
        next_offset: 0,
        segments: vec![sealed, open],
        loose: Vec::new(),
        fences: vec![Fence { first_offset: 103, last_offset: 104, base_offset: 100, generation: 2 }],
    }
}

pub(crate) fn index() -> Index {
    let entries = vec![
        IndexEntry { offset: 100, timestamp: 1_700_000_000_000_000, position: 0 },
        IndexEntry { offset: 110, timestamp: 1_700_000_000_000_900, position: 4_670 },
    ];
    Index { group: 7, base_offset: 100, segment_bytes: 5_037, generation: 0, first_checksum: 0x5678, entries }
}

pub(crate) fn state() -> MetadataState {
    MetadataState {
        group: METADATA_GROUP,
        op: 12,
        chain: 0xc1c2_c3c4,
        clients: (1..=20).collect(),
        machine: vec![7; 33],
    }
}

/// Every golden file: its name, the kind that `inspect` calls it, its bytes.
pub(crate) fn files() -> Vec<(&'static str, &'static str, Vec<u8>)> {
    let superblock = superblock();
    vec![
        ("layout", "layout", layout().encode()),
        ("superblock", "superblock", superblock_file(&superblock, &superblock)),
        ("journal", "journal", journal()),
        ("manifest", "manifest", manifest().encode().0),
        ("segment", "segment", segment()),
        ("segments", "segments", segments_file().encode()),
        ("index", "index", index().encode()),
        ("state", "state", state().encode()),
    ]
}
