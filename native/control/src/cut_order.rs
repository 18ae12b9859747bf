//! Cuts for leases: the order from the control plane, and the report to it.

use std::path::PathBuf;

use ng_replication::CutEnd;
use ng_storage::store::CutSegments;
use ng_wire::primitive::{Reader, put_u32, put_u64, put_u128};
use ng_wire::table::segment_order::CutEnd as Code;

use crate::shard_id::ShardId;

/// Maximum segments in one record.
const SEGMENTS_PER_RECORD: usize = 1024;

/// An order to cut one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutOrder {
    /// Replication group of the partition.
    pub group: u64,
    /// Directory that receives the second names. It must be on the file system of the segments, because hard
    /// links cannot cross file systems.
    pub directory: PathBuf,
}

impl CutOrder {
    /// Decodes the body of a record; `None` if the bytes are malformed.
    #[must_use]
    pub fn decode(body: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(body);
        let group = reader.u64().ok()?;
        let directory = std::str::from_utf8(body.get(8..)?).ok()?;
        let usable = directory.starts_with('/') && !directory.contains('\0');
        usable.then(|| Self { group, directory: PathBuf::from(directory) })
    }
}

/// The outcome of an order.
#[derive(Debug)]
pub struct CutReport {
    /// Shard that executed the order.
    pub shard: ShardId,
    /// Token of the order's record.
    pub token: u64,
    /// Outcome.
    pub end: CutEnd,
}

impl CutReport {
    /// Encodes the bodies of the records for the control plane, in order.
    #[must_use]
    pub fn bodies(&self) -> Vec<Vec<u8>> {
        match &self.end {
            CutEnd::Done(segments) => done(segments),
            CutEnd::Busy => vec![vec![1, Code::Busy.code()]],
            CutEnd::NoGroup => vec![vec![1, Code::NoGroup.code()]],
            CutEnd::Failed(why) => vec![refused(Code::Failed, why)],
            CutEnd::Full(why) => vec![refused(Code::Full, why)],
        }
    }
}

fn refused(end: Code, why: &str) -> Vec<u8> {
    let mut body = vec![1, end.code()];
    put_u32(&mut body, u32::try_from(why.len()).unwrap_or(u32::MAX));
    body.extend_from_slice(why.as_bytes());
    body
}

fn done(cut: &CutSegments) -> Vec<Vec<u8>> {
    let mut pieces = cut.segments.chunks(SEGMENTS_PER_RECORD).peekable();
    let mut bodies = Vec::new();
    loop {
        let piece = pieces.next().unwrap_or_default();
        let is_last = pieces.peek().is_none();
        let mut body = vec![u8::from(is_last), Code::Done.code()];
        put_u64(&mut body, cut.generation);
        put_u64(&mut body, cut.last_offset.unwrap_or(u64::MAX));
        for entry in piece {
            put_u64(&mut body, entry.base_offset);
            put_u64(&mut body, entry.last_offset);
            put_u64(&mut body, entry.min_timestamp);
            put_u64(&mut body, entry.max_timestamp);
            put_u64(&mut body, entry.bytes);
            put_u32(&mut body, entry.messages);
            put_u32(&mut body, entry.generation);
            put_u128(&mut body, entry.footer);
        }
        bodies.push(body);
        if is_last {
            return bodies;
        }
    }
}

#[cfg(test)]
mod tests {
    use ng_storage::segments_file::SegmentEntry;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_order_names_a_group_and_a_whole_path() {
        let mut body = 7_u64.to_le_bytes().to_vec();
        assert_eq!(CutOrder::decode(&body), None);
        body.extend_from_slice(b"/data/leases/1");
        let order = CutOrder { group: 7, directory: PathBuf::from("/data/leases/1") };
        assert_eq!(CutOrder::decode(&body), Some(order));
        for bad in [&b"leases/1"[..], b"/le\0ases", b"/\xff"] {
            let mut body = 7_u64.to_le_bytes().to_vec();
            body.extend_from_slice(bad);
            assert_eq!(CutOrder::decode(&body), None);
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(body in proptest::collection::vec(any::<u8>(), 0..60)) {
            prop_assert!(CutOrder::decode(&body).is_none_or(|order| order.directory.is_absolute()));
        }
    }

    #[test]
    fn a_long_list_has_several_records_and_an_empty_one_has_one() {
        let entry = SegmentEntry {
            base_offset: 1,
            last_offset: 2,
            min_timestamp: 3,
            max_timestamp: 4,
            bytes: 5,
            messages: 6,
            generation: 0,
            footer: 8,
        };
        let bodies_of = |count: usize| {
            let segments = CutSegments { generation: 9, last_offset: None, segments: vec![entry; count] };
            CutReport { shard: ShardId(0), token: 1, end: CutEnd::Done(segments) }.bodies()
        };
        assert_eq!(bodies_of(0).len(), 1);
        let bodies = bodies_of(SEGMENTS_PER_RECORD + 1);
        assert_eq!(bodies.iter().map(|body| body[0]).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(bodies.iter().map(|body| (body.len() - 18) / 64).sum::<usize>(), SEGMENTS_PER_RECORD + 1);
    }
}
