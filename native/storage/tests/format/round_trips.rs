//! Whatever is written is read back the same.

use ng_storage::block::BlockHeader;
use ng_storage::footer::Footer;
use ng_storage::index::{Index, IndexEntry};
use ng_storage::layout::{JournalName, Layout, Member};
use ng_storage::manifest::{GroupEntry, Manifest, StoredOffset, UnsealedSegment};
use ng_storage::record::{BodyCheck, Level, RecordHeader, RecordKind};
use ng_storage::record_body::{LostBlocks, MarkBody, OpenBody, Standing, ViewBody};
use ng_storage::segment::{Found, look};
use ng_storage::segments_file::{Fence, SegmentEntry, SegmentsFile};
use ng_storage::superblock::{Genesis, ManifestPointer, Ring, Superblock, SyncedBlock};
use ng_wire::batch::Verified;
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;

use crate::values;

fn kind() -> impl Strategy<Value = RecordKind> {
    prop_oneof![
        Just(RecordKind::Prepare),
        Just(RecordKind::View),
        Just(RecordKind::Open),
        Just(RecordKind::Close),
        Just(RecordKind::Install),
        Just(RecordKind::Mark),
        Just(RecordKind::Damaged),
    ]
}

prop_compose! {
    pub(crate) fn header()(
        wide in any::<[u128; 3]>(),
        numbers in any::<[u64; 6]>(),
        kind in kind(),
        [persisted, batch] in any::<[bool; 2]>(),
        operation in any::<u16>(),
        epoch in any::<u32>(),
        body_length in any::<u32>(),
    ) -> RecordHeader {
        let [body_checksum, parent, client] = wide;
        let [group, op, view, request, timestamp, commit] = numbers;
        let level = if persisted { Level::Persisted } else { Level::Replicated };
        let body_check = if batch { BodyCheck::Batch } else { BodyCheck::Whole };
        RecordHeader {
            body_checksum, parent, client, group, op, view, request, timestamp, commit, kind, level, operation,
            body_length, epoch, body_check,
        }
    }
}

/// A file that does not count.
const fn fence(first_offset: u64, last_offset: u64, generation: u32) -> Fence {
    Fence { first_offset, last_offset, base_offset: first_offset / 2, generation }
}

const fn loose(base_offset: u64) -> SegmentEntry {
    SegmentEntry {
        base_offset,
        last_offset: base_offset,
        min_timestamp: 1,
        max_timestamp: 1,
        bytes: 1,
        messages: 1,
        generation: 1,
        footer: 1,
    }
}

proptest! {
    #[test]
    fn record_headers(header in header()) {
        let mut bytes = Vec::new();
        let identity = header.encode(&mut bytes);
        prop_assert_eq!(RecordHeader::decode(&bytes), Ok((header, identity)));
    }

    #[test]
    fn blocks(bodies in vec((header(), vec(any::<u8>(), 0..9_000)), 0..9), numbers in any::<[u32; 4]>()) {
        let records: Vec<_> = bodies
            .into_iter()
            .map(|(header, body)| {
                let plain = RecordHeader::of(header.kind, header.group, &body);
                let RecordHeader { body_checksum, body_length, body_check, .. } = plain;
                (RecordHeader { body_checksum, body_length, body_check, ..header }, body)
            })
            .collect();
        let header = BlockHeader {
            journal: values::JOURNAL,
            previous: u128::from(numbers[0]),
            sequence: u64::from(numbers[1]) + 2,
            incarnation: 1,
            synced_through: u64::from(numbers[1]),
            oldest: 1,
            offset: u64::from(numbers[2]),
            file: numbers[3],
            bytes: 0,
            records: 0,
            previous_file: 0,
            directory_checksum: 0,
        };
        let (bytes, written, checksum) = values::block(header, &records);
        prop_assert_eq!(BlockHeader::decode(&bytes), Ok((written, checksum)));
        prop_assert_eq!(bytes.len(), written.bytes as usize);
        let read = written.records(&bytes).expect("a good directory");
        prop_assert_eq!(read.len(), records.len());
        for (found, (header, body)) in read.iter().zip(&records) {
            prop_assert!(found.whole);
            prop_assert_eq!(found.header, *header);
            prop_assert_eq!(&bytes[found.body_start..found.body_start + body.len()], &body[..]);
        }
    }

    #[test]
    fn view_bodies(ops in btree_set(1..1_000_u64, 0..9), above in 0..9_u64, numbers in any::<[u64; 3]>()) {
        let headers: Vec<_> = ops.iter().rev().map(|op| values::prepare(7, *op, b"body")).collect();
        let head = headers.first().map_or(0, |first| first.op) + above;
        let [view, log_view, commit] = numbers;
        let body = ViewBody { view, log_view, commit, head, headers };
        prop_assert_eq!(ViewBody::decode(&body.encode(), 7), Ok(body.clone()));
        prop_assert!(body.headers.is_empty() || ViewBody::decode(&body.encode(), 8).is_err());
    }

    #[test]
    fn open_and_mark_bodies(blank in any::<bool>(), replicas in vec(any::<u128>(), 1..32), cuts in btree_set(any::<u64>(), 0..40)) {
        let open = OpenBody { blank, replicas };
        prop_assert_eq!(OpenBody::decode(&open.encode()), Ok(open));
        let cuts: Vec<_> = cuts.into_iter().collect();
        let standings = [Standing::Skipped, Standing::Unproven, Standing::Accepted, Standing::Proven];
        let ranges = cuts.chunks_exact(2).zip(standings.into_iter().cycle());
        let lost = ranges.map(|(pair, standing)| LostBlocks { first: pair[0], last: pair[1], standing });
        let mark = MarkBody { lost: lost.collect() };
        prop_assert_eq!(MarkBody::decode(&mark.encode()), Ok(mark));
    }

    #[test]
    fn layouts(names in btree_set(any::<(u32, u32)>(), 1..40), epoch in 1..u32::MAX, shard_count in 1..1025_u32) {
        let journals = names.into_iter().map(|(epoch, shard)| JournalName { epoch, shard }).collect();
        let member = Member { number: epoch.to_le_bytes()[0] % 32, count: 32 };
        let layout = Layout { cluster: values::CLUSTER, node: values::NODE, member, epoch, shard_count, journals };
        prop_assert_eq!(Layout::decode(&layout.encode()), Ok(layout));
    }

    #[test]
    fn superblocks(wide in any::<[u128; 5]>(), numbers in any::<[u64; 4]>(), small in any::<[u32; 5]>(), clean in any::<bool>()) {
        let superblock = Superblock {
            cluster: wide[0],
            node: wide[1],
            member: Member { number: 0, count: 1 + small[0].to_le_bytes()[0] % 32 },
            journal: wide[2],
            epoch: small[0],
            shard: small[1] / 2,
            shard_count: small[1] / 2 + 1,
            clean,
            sequence: numbers[0],
            parent: wide[3],
            incarnation: numbers[1],
            manifest: ManifestPointer { sequence: numbers[2], checksum: wide[4] },
            journal_file_bytes: (numbers[3] % 1_000_000 + 1) * 4096,
            ring: Ring { files: small[2] % 1_000 + 1, synced: SyncedBlock { sequence: numbers[1], checksum: wide[3], file: small[2] % 1_000 } },
            genesis: Genesis { frame_bytes_max: small[2], pipeline_depth: small[3], client_table_slots: small[4], consumer_offsets_max: small[0] },
        };
        let elected = Superblock::elect(&values::superblock_file(&superblock, &superblock)).expect("four copies");
        prop_assert_eq!((elected.superblock, elected.agreeing), (superblock, 4));
    }

    #[test]
    fn manifests(groups in btree_set(any::<u64>(), 0..20), consumers in btree_set((1..3_u8, any::<u64>()), 0..20), seed in any::<u64>()) {
        let offsets: Vec<_> = consumers.into_iter().map(|(kind, id)| StoredOffset { kind, id, offset: seed ^ id }).collect();
        let groups = groups
            .into_iter()
            .map(|group| GroupEntry {
                group,
                last_offset: !seed,
                purge_generation: group ^ seed,
                first_offset: seed >> 1,
                fenced: seed & 1 == 1,
                skipped_to: seed >> 3,
                anchor: RecordHeader { op: seed, ..RecordHeader::of(RecordKind::Prepare, group, b"anchor") },
                offsets: if group & 1 == 0 { offsets.clone() } else { Vec::new() },
                gaps: if group & 2 == 0 { vec![(3, 3), (7, 9 + (group >> 1))] } else { Vec::new() },
                list_sequence: seed >> 5,
                unsealed: (group & 4 == 0).then_some(UnsealedSegment {
                    base_offset: seed >> 1,
                    last_offset: seed >> 1 | seed,
                    bytes: (seed >> 2) + 1,
                    messages: group,
                    min_timestamp: seed,
                    max_timestamp: !seed,
                    last_batch: seed >> 2,
                    first_checksum: seed.rotate_left(9) ^ group,
                    last_checksum: seed ^ group,
                }),
            })
            .collect();
        let manifest = Manifest { node: values::NODE, sequence: seed, shard: 1, groups };
        prop_assert_eq!(Manifest::decode(&manifest.encode().0), Ok(manifest));
    }

    #[test]
    fn segments_files_and_indexes(cuts in btree_set(0..u64::MAX, 0..40), seed in any::<u32>()) {
        let cuts: Vec<_> = cuts.into_iter().collect();
        let segments = cuts.chunks_exact(2).map(|pair| SegmentEntry {
            base_offset: pair[0],
            last_offset: pair[1],
            min_timestamp: 1,
            max_timestamp: 2,
            bytes: u64::from(seed),
            messages: !seed,
            generation: seed,
            footer: 3,
        });
        let file = SegmentsFile {
            node: 1,
            group: 2,
            purge_generation: 3,
            sequence: 4,
            first_op: 5,
            next_offset: 0,
            segments: segments.collect(),
            loose: cuts.chunks_exact(3).map(|part| loose(part[2])).collect(),
            fences: cuts.chunks_exact(2).map(|pair| fence(pair[0], pair[1], seed)).collect(),
        };
        let emptied = SegmentsFile { next_offset: u64::from(seed), segments: Vec::new(), ..file.clone() };
        prop_assert_eq!(SegmentsFile::decode(&emptied.encode()), Ok(emptied));
        let contradiction = SegmentsFile { next_offset: 1, ..file.clone() };
        prop_assert_eq!(SegmentsFile::decode(&contradiction.encode()).is_err(), !file.segments.is_empty());
        prop_assert_eq!(SegmentsFile::decode(&file.encode()), Ok(file));
        let entries = cuts.iter().map(|cut| IndexEntry { offset: *cut, timestamp: cut / 2, position: *cut }).collect();
        let index = Index {
            group: 1,
            base_offset: 2,
            segment_bytes: u64::MAX,
            generation: seed,
            first_checksum: u64::from(seed).rotate_left(9),
            entries,
        };
        prop_assert_eq!(Index::decode(&index.encode()), Ok(index));
    }

    #[test]
    fn footers(bytes in 0..9_000_000_u64, numbers in any::<[u64; 8]>(), generation in any::<u32>()) {
        let footer = Footer {
            group: numbers[0],
            base_offset: numbers[1],
            last_offset: numbers[2],
            messages: numbers[3],
            first_op: numbers[4],
            last_op: numbers[5],
            bytes,
            min_timestamp: numbers[6],
            max_timestamp: numbers[7],
            generation,
            digests: (0..bytes.div_ceil(1 << 20)).map(u128::from).collect(),
        };
        let (encoded, checksum) = footer.encode();
        prop_assert_eq!(Footer::decode(&encoded), Ok((footer, checksum)));
    }

    #[test]
    fn a_segment_is_walked_batch_by_batch_wherever_pages_fall(sizes in vec(vec(0..5_000_usize, 1..4), 1..8)) {
        let mut file = Vec::new();
        let mut expected = Vec::new();
        for (number, sizes) in (0_u64..).zip(&sizes) {
            let payloads: Vec<_> = sizes.iter().map(|size| vec![0_u8; *size]).collect();
            let payloads: Vec<_> = payloads.iter().map(Vec::as_slice).collect();
            let batch = values::batch(number * 10, 1_000, &payloads);
            expected.push(number * 10 + sizes.len() as u64 - 1);
            file.extend_from_slice(&batch);
        }
        file.resize(file.len().next_multiple_of(4096) + 4096, 0);
        let (mut at, mut found) = (0, Vec::new());
        while let Found::Batch(Verified { header, last_offset, .. }) = look(&file[at..], at).expect("good batches") {
            found.push(last_offset);
            at += usize::try_from(header.length).expect("short");
        }
        prop_assert_eq!(found, expected);
    }
}
