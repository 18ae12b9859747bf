//! What an offline job does with sealed segments of a lease: it rewrites them to the messages that it keeps, as one
//! segment.

use std::path::Path;

use ng_io::{Environment as _, SimulatedEnvironment};
use ng_storage::PAGE;
use ng_storage::columns::{Stop, Walk};
use ng_storage::footer::{Footer, digests};
use ng_storage::rewrite::rewrite;
use ng_storage::segments_file::{SegmentEntry, file_name};
use ng_storage::store::plan::Step;
use ng_wire::batch::BatchHeader;
use ng_wire::replica::{SwapInput, SwapOutput, swap_body};

use crate::damage::perform;

/// A segment of a lease with its batches.
#[derive(Clone, Debug)]
pub(super) struct LeasedSegment {
    pub(super) entry: SegmentEntry,
    pub(super) batches: Vec<u8>,
}

/// Successive sealed segments of a partition.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run<'a> {
    pub(super) group: u64,
    pub(super) partition: u32,
    pub(super) purge_generation: u64,
    pub(super) segments: &'a [LeasedSegment],
}

impl Run<'_> {
    /// Writes one segment for the run into a directory, with the messages that `keeps` names. The body of the swap; nothing
    /// if no message is kept.
    pub(super) fn rewrite(
        &self,
        environment: &SimulatedEnvironment,
        directory: &Path,
        keeps: impl Fn(u64) -> bool,
    ) -> Option<Vec<u8>> {
        let batches: Vec<u8> =
            self.segments.iter().flat_map(|segment| self.survivors(segment, &keeps)).collect();
        let (bytes, output) = self.seal(batches)?;
        let path = directory.join(file_name(output.base_offset, output.generation));
        environment.boot(|| {
            environment.make_directories(directory).ok()?;
            let plan = vec![
                Step::Remove(path.clone()),
                Step::Write { path: path.clone(), offset: 0, buffer: bytes.into(), batches: false },
                Step::Sync { path, batches: false },
                Step::SyncDirectory(directory.to_owned()),
            ];
            perform(environment, plan).ok()
        })?;
        let inputs: Vec<SwapInput> = self.segments.iter().map(|segment| input(&segment.entry)).collect();
        Some(swap_body(self.purge_generation, &inputs, &[output]))
    }

    fn survivors(&self, segment: &LeasedSegment, keeps: &impl Fn(u64) -> bool) -> Vec<u8> {
        let SegmentEntry { base_offset, last_offset, bytes, .. } = segment.entry;
        let offsets = (base_offset..=last_offset).filter(|offset| keeps(*offset));
        let kept: Vec<u8> = offsets.flat_map(u64::to_le_bytes).collect();
        let walk = Walk { valid: bytes, after: base_offset, partition: self.partition.into(), hashed: true };
        let mut written = Vec::new();
        let rewritten = rewrite(&segment.batches, &walk, &kept, &mut written);
        assert_eq!(rewritten.stop, Stop::End, "the segment was looked at when it was leased");
        written
    }

    fn seal(&self, batches: Vec<u8>) -> Option<(Vec<u8>, SwapOutput)> {
        let headers = headers(&batches);
        let entries = || self.segments.iter().map(|segment| &segment.entry);
        let stamps = headers.iter().map(|header| header.base_timestamp);
        let footer = Footer {
            group: self.group,
            base_offset: entries().next()?.base_offset,
            last_offset: entries().next_back()?.last_offset,
            messages: headers.iter().map(|header| u64::from(header.count)).sum(),
            first_op: 0,
            last_op: 0,
            bytes: batches.len() as u64,
            min_timestamp: stamps.clone().min()?,
            max_timestamp: stamps.max()?,
            generation: entries().map(|entry| entry.generation).max()? + 1,
            digests: digests(&batches),
        };
        let (encoded, checksum) = footer.encode();
        let mut bytes = batches;
        bytes.resize(bytes.len().next_multiple_of(PAGE), 0);
        bytes.extend_from_slice(&encoded);
        bytes.resize(bytes.len().next_multiple_of(PAGE), 0);
        let output = SwapOutput {
            base_offset: footer.base_offset,
            last_offset: footer.last_offset,
            min_timestamp: footer.min_timestamp,
            max_timestamp: footer.max_timestamp,
            bytes: footer.bytes,
            generation: footer.generation,
            messages: u32::try_from(footer.messages).ok()?,
            footer: checksum,
        };
        Some((bytes, output))
    }
}

const fn input(entry: &SegmentEntry) -> SwapInput {
    let SegmentEntry { base_offset, last_offset, generation, footer, .. } = *entry;
    SwapInput { base_offset, last_offset, generation, footer }
}

/// The headers of successive batches.
pub(super) fn headers(mut batches: &[u8]) -> Vec<BatchHeader> {
    let mut found = Vec::new();
    while let Ok(header) = BatchHeader::decode(batches) {
        batches = batches.get(usize::try_from(header.length).unwrap_or(usize::MAX)..).unwrap_or_default();
        found.push(header);
    }
    found
}
