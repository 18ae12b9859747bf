//! Number of times that a batch is hashed while it is stored and served.

use ng_replication::{PollLimits, PollStrategy};
use ng_wire::hashed::hashed_bytes;
use ng_wire::replica::LogOperation;

use crate::rig::{Node, batch, poll, uncached};

/// One message, so large that the headers of records and blocks are negligible.
const PAYLOAD: usize = 400_000;

/// Bytes hashed during `act`, in multiples of a batch, rounded to a twentieth.
fn passes(act: impl FnOnce()) -> f64 {
    let before = hashed_bytes();
    act();
    let whole = (hashed_bytes() - before) as f64 / PAYLOAD as f64;
    (whole * 20.0).round() / 20.0
}

#[test]
fn a_payload_is_hashed_twice_on_its_way_in_and_once_out_of_segments() {
    let mut node = Node::new(51);
    node.log.set_poll_limits(PollLimits::default());
    node.send(0, &[1]);
    node.flush();
    let body = batch(1, &[PAYLOAD]);
    // Verified against the producer's checksum only. Records and blocks cover it through its checksums, so
    // they do not hash it again.
    assert_eq!(passes(|| drop(node.done(LogOperation::Batch, &body))), 1.0, "sent and synced");
    // For the digests in the segment's footer.
    assert_eq!(passes(|| node.flush()), 1.0, "written to a segment");
    let ask = poll(PollStrategy::Offset(1), 1);
    assert_eq!(passes(|| drop(node.poll(ask).expect("it is there"))), 0.0, "polled from memory");
    let mut node = node.stop_and_start();
    node.log.set_poll_limits(uncached());
    // The first poll opens the partition, which verifies the unsealed segment and computes its digests again.
    assert_eq!(passes(|| drop(node.poll(ask).expect("it is there"))), 3.0, "polled first");
    assert_eq!(passes(|| drop(node.poll(ask).expect("it is there"))), 1.0, "polled from its segment");
}
