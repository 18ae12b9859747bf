//! How often the bytes of a batch are hashed on their way in and out.

use ng_replication::{PollLimits, PollStrategy};
use ng_wire::hashed::hashed_bytes;
use ng_wire::replica::LogOperation;

use crate::rig::{Node, batch, poll, uncached};

/// One message, so large that headers of records and blocks weigh nothing beside it.
const PAYLOAD: usize = 400_000;

/// How often as many bytes as a batch has are hashed while something is done, to a twentieth.
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
    // Held against what the producer says, and no more: records and blocks vouch for it through its own
    // checksums.
    assert_eq!(passes(|| drop(node.done(LogOperation::Batch, &body))), 1.0, "sent and synced");
    // Into the digests that the footer of the segment will have.
    assert_eq!(passes(|| node.flush()), 1.0, "written behind");
    let ask = poll(PollStrategy::Offset(1), 1);
    assert_eq!(passes(|| drop(node.poll(ask).expect("it is there"))), 0.0, "polled from memory");
    let mut node = node.stop_and_start();
    node.log.set_poll_limits(uncached());
    // The first one opens the partition: what is not sealed is verified, and its digests are made anew.
    assert_eq!(passes(|| drop(node.poll(ask).expect("it is there"))), 3.0, "polled first");
    assert_eq!(passes(|| drop(node.poll(ask).expect("it is there"))), 1.0, "polled from its segment");
}
