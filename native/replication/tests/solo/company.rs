//! Number of syncs for a few clients that send again as soon as they are answered.

use std::collections::VecDeque;
use std::time::Duration;

use ng_replication::LogAnswer;
use ng_wire::replica::LogOperation;

use crate::rig::{Node, batch};

/// Time between the next sends of two answered clients, much shorter than a sync.
const APART: Duration = Duration::from_micros(5);

const SENDS: usize = 400;

/// Syncs of the journal while `clients` clients send, each one batch after another.
fn syncs(clients: usize) -> u64 {
    let mut node = Node::new(7);
    node.flush();
    let syncs = |node: &Node| {
        let cells = node.log.journal_measured().sync_micros.cells();
        cells[..cells.len() - 1].iter().sum::<u64>()
    };
    let before = syncs(&node);
    let send =
        |node: &mut Node, number: usize| node.begin(LogOperation::Batch, &batch(number as u64, &[100]));
    let mut asking: VecDeque<u64> = (0..clients).map(|number| send(&mut node, number)).collect();
    let mut sent = clients;
    while !asking.is_empty() {
        node.turn_within(APART);
        let first = *asking.front().expect("it is not empty");
        if let Some(answer) = node.take_answer(first) {
            assert!(matches!(answer, LogAnswer::Done { .. }), "{answer:?}");
            asking.pop_front();
            if sent < SENDS {
                asking.push_back(send(&mut node, sent));
                sent += 1;
            }
        }
    }
    syncs(&node) - before
}

#[test]
fn a_single_client_does_not_wait_for_others() {
    assert!((400..410).contains(&syncs(1)), "one for each batch, and those of a checkpoint");
}

#[test]
fn clients_that_were_answered_together_are_synced_together() {
    let found = syncs(4);
    assert!(found <= 120, "{found} syncs for 400 batches of 4 clients");
}
