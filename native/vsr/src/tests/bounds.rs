//! Which numbers of a setup fit together, and the quorums that follow from the number of replicas.

use ng_wire::replica::SUFFIX_MAX;

use super::hand::setup;
use crate::quorum::Quorums;
use crate::{ClientLimits, Directory, Effects, Limits, Replica, Setup, UnsoundSetup};

const LISTED: u64 = SUFFIX_MAX as u64;

fn with(limits: Limits) -> Setup {
    Setup { limits, ..setup(0, 3) }
}

fn metadata(clients: u32, replies: usize) -> Setup {
    Setup { clients: Some(ClientLimits { clients, replies, reply_bytes: 0 }), ..setup(0, 3) }
}

#[test]
fn numbers_at_their_bounds_are_sound() {
    let least = Limits { pipeline: 1, backlog: 1, retained: 0, applying: 1, repair: 1, listed: 2 };
    let most =
        Limits { pipeline: 2_048, backlog: 2_048, retained: 2_048, applying: 1, repair: 1, listed: LISTED };
    for sound in [with(least), with(most), setup(0, 1), setup(31, 32), metadata(1, 1)] {
        assert!(sound.is_sound(), "{sound:?}");
    }
}

#[test]
fn numbers_beyond_their_bounds_are_refused() {
    let limits = setup(0, 3).limits;
    let unsound = [
        setup(0, 0),
        setup(0, 33),
        setup(3, 3),
        setup(4, 3),
        with(Limits { pipeline: 0, ..limits }),
        with(Limits { applying: 0, ..limits }),
        with(Limits { repair: 0, ..limits }),
        with(Limits { pipeline: limits.backlog + 1, ..limits }),
        with(Limits { retained: limits.backlog + 1, ..limits }),
        with(Limits { backlog: 2_049, ..limits }),
        with(Limits { listed: limits.backlog, ..limits }),
        with(Limits { listed: limits.backlog - 1, ..limits }),
        with(Limits { listed: LISTED + 1, ..limits }),
        metadata(0, 1),
        metadata(1, 0),
    ];
    for setup in unsound {
        assert!(!setup.is_sound(), "{setup:?}");
        let opened = Replica::open(setup, Directory::Blank, 1, 0, &mut Effects::default());
        assert_eq!(opened.err(), Some(UnsoundSetup), "{setup:?}");
    }
}

#[test]
fn a_replica_needs_a_nonce() {
    let opened = Replica::open(setup(0, 3), Directory::Blank, 0, 0, &mut Effects::default());
    assert_eq!(opened.err(), Some(UnsoundSetup));
    assert_eq!(UnsoundSetup.to_string(), "the setup of a group contradicts itself");
}

#[test]
fn quorums_follow_from_the_number_of_replicas() {
    let of = |replicas| {
        let quorums = Quorums::of(replicas);
        assert_eq!((quorums.replicas, quorums.view_change), (replicas, quorums.replication));
        (quorums.replication, quorums.nack, quorums.probe())
    };
    assert_eq!([1, 2, 3, 4, 5].map(of), [(1, 1, 0), (2, 1, 1), (2, 2, 2), (3, 2, 3), (3, 3, 3)]);
}
