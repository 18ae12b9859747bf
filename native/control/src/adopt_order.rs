//! Adoptions: the order from the control plane, and the report to it.

use std::path::PathBuf;

use ng_replication::{Adoption, AdoptionEnd};
use ng_wire::primitive::{Reader, put_str32};
use ng_wire::table::segment_order::AdoptionEnd as Code;

use crate::shard_id::ShardId;

/// An order to adopt files into one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdoptOrder {
    /// Replication group of the partition.
    pub group: u64,
    /// Files and swap operation.
    pub adoption: Adoption,
}

impl AdoptOrder {
    /// Decodes the body of a record; `None` if the bytes are malformed. The swap is not checked here, because
    /// the shard checks it against its segments.
    #[must_use]
    pub fn decode(body: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(body);
        let group = reader.u64().ok()?;
        let length = reader.u32().ok()? as usize;
        let swap = reader.bytes(length).ok()?.to_vec();
        let directory = std::str::from_utf8(body.get(12 + length..)?).ok()?;
        let usable = directory.starts_with('/') && !directory.contains('\0');
        let adoption = || Adoption { swap, directory: PathBuf::from(directory) };
        usable.then(|| Self { group, adoption: adoption() })
    }
}

/// The outcome of an order.
#[derive(Debug)]
pub struct AdoptionReport {
    /// Shard that executed the order.
    pub shard: ShardId,
    /// Token of the order's record.
    pub token: u64,
    /// Outcome.
    pub end: AdoptionEnd,
}

impl AdoptionReport {
    /// Encodes the body of the record for the control plane.
    #[must_use]
    pub fn body(&self) -> Vec<u8> {
        let (code, why) = match &self.end {
            AdoptionEnd::Done => (Code::Done, ""),
            AdoptionEnd::Busy => (Code::Busy, ""),
            AdoptionEnd::NoGroup => (Code::NoGroup, ""),
            AdoptionEnd::Failed(why) => (Code::Failed, why.as_str()),
            AdoptionEnd::Fenced => (Code::Fenced, ""),
            AdoptionEnd::Cluster => (Code::Cluster, ""),
            AdoptionEnd::Unsound => (Code::Unsound, ""),
        };
        let mut body = vec![code.code()];
        put_str32(&mut body, why);
        body
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn order(swap: &[u8], directory: &[u8]) -> Vec<u8> {
        let length = u32::try_from(swap.len()).expect("short");
        [&7_u64.to_le_bytes(), &length.to_le_bytes()[..], swap, directory].concat()
    }

    #[test]
    fn an_order_names_a_group_a_swap_and_a_whole_path() {
        let adoption = Adoption { swap: vec![1, 2, 3], directory: PathBuf::from("/data/leases/1") };
        let read = AdoptOrder::decode(&order(&[1, 2, 3], b"/data/leases/1"));
        assert_eq!(read, Some(AdoptOrder { group: 7, adoption }));
        for bad in [&b""[..], b"leases/1", b"/le\0ases", b"/\xff"] {
            assert_eq!(AdoptOrder::decode(&order(&[1], bad)), None);
        }
        assert_eq!(AdoptOrder::decode(&order(&[1], b"/a")[..12]), None);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(body in proptest::collection::vec(any::<u8>(), 0..60)) {
            let read = AdoptOrder::decode(&body);
            prop_assert!(read.is_none_or(|order| order.adoption.directory.is_absolute()));
        }
    }

    #[test]
    fn each_end_has_its_number() {
        let body = |end| AdoptionReport { shard: ShardId(0), token: 1, end }.body();
        assert_eq!(body(AdoptionEnd::Done), [0, 0, 0, 0, 0]);
        assert_eq!(body(AdoptionEnd::Fenced), [4, 0, 0, 0, 0]);
        assert_eq!(body(AdoptionEnd::Failed("no".to_owned())), [3, 2, 0, 0, 0, b'n', b'o']);
    }
}
