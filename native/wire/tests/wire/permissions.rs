//! Permission blocks: the golden one, every cut of it, nestings that are none, and the bounds.

use ng_wire::permissions::{PERMISSIONS_BYTES_MAX, Permissions, StreamPermissions, TopicPermissions};
use ng_wire::primitive::Malformed;
use ng_wire::table::error::ErrorCode;
use ng_wire::table::permission::{GlobalFlag, Requirement, StreamFlag, TopicFlag};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

use crate::vectors::golden;

fn block(permissions: &Permissions) -> Vec<u8> {
    let mut block = Vec::new();
    permissions.put(&mut block);
    block
}

fn stream(number: u32, topics: Vec<TopicPermissions>) -> StreamPermissions {
    StreamPermissions { stream: number, flags: 1 << StreamFlag::PollMessages.code(), topics }
}

fn in_streams(streams: Vec<StreamPermissions>) -> Permissions {
    Permissions { global: 0, streams }
}

#[test]
fn the_golden_block() {
    let topic = TopicPermissions { topic: 2, flags: 1 << TopicFlag::SendMessages.code() };
    let permissions =
        Permissions { global: 1 << GlobalFlag::ReadStreams.code(), streams: vec![stream(1, vec![topic])] };
    assert_eq!(Permissions::decode(&golden("permissions")), Ok(permissions.clone()));
    assert_eq!(block(&permissions), golden("permissions"));
}

#[test]
fn every_cut_and_every_longer_block_is_refused() {
    let whole = golden("permissions");
    for length in 0..whole.len() {
        assert!(Permissions::decode(&whole[..length]).is_err(), "{length} bytes");
    }
    assert_eq!(Permissions::decode(&[&whole[..], &[0]].concat()), Err(Malformed::Trailing { extra: 1 }));
    assert_eq!(ErrorCode::from(Malformed::Repeated(1)), ErrorCode::InvalidCommand);
}

/// A flag that is neither 0 nor 1 would be granted by one reader and not by the next.
#[test]
fn flags_and_what_follows_are_bits() {
    let whole = golden("permissions");
    let numbers = [11..15, 22..26];
    for at in (0..whole.len()).filter(|at| !numbers.iter().any(|number| number.contains(at))) {
        let mut broken = whole.clone();
        broken[at] = 2;
        assert_eq!(Permissions::decode(&broken), Err(Malformed::Value(2)), "byte {at}");
    }
}

#[test]
fn no_stream_and_no_topic_of_a_stream_occurs_twice() {
    let repeated = block(&in_streams(vec![stream(7, vec![]), stream(8, vec![]), stream(7, vec![])]));
    assert_eq!(Permissions::decode(&repeated), Err(Malformed::Repeated(7)));
    let topic = TopicPermissions { topic: 9, flags: 0 };
    let repeated = block(&in_streams(vec![stream(7, vec![topic, topic])]));
    assert_eq!(Permissions::decode(&repeated), Err(Malformed::Repeated(9)));
    let distinct = in_streams(vec![stream(8, vec![topic]), stream(7, vec![topic])]);
    assert_eq!(Permissions::decode(&block(&distinct)), Ok(distinct), "also out of order");
}

#[test]
fn a_block_has_a_bound() {
    let of = |streams: u32| in_streams((0..streams).map(|number| stream(number, vec![])).collect());
    let most = of(5_460);
    assert!(block(&most).len() <= PERMISSIONS_BYTES_MAX && block(&of(5_461)).len() > PERMISSIONS_BYTES_MAX);
    assert_eq!(Permissions::decode(&block(&most)), Ok(most));
    for streams in [5_461, 10_000] {
        let refusal = Malformed::Long { most: PERMISSIONS_BYTES_MAX };
        assert_eq!(Permissions::decode(&block(&of(streams))), Err(refusal), "{streams} streams");
    }
}

#[test]
fn root_holds_every_global_flag() {
    for flag in GlobalFlag::ALL {
        assert_ne!(Permissions::all().global & 1 << flag.code(), 0, "{}", flag.name());
    }
    assert_eq!(block(&Permissions::all()), [[1; 10].as_slice(), &[0]].concat());
}

#[test]
fn masks_are_the_flags_of_a_requirement() {
    for requirement in Requirement::ALL {
        let (grants, masks) = (requirement.grants(), requirement.masks());
        let name = requirement.name();
        for flag in GlobalFlag::ALL {
            assert_eq!(masks.global >> flag.code() & 1 == 1, grants.global.contains(flag), "{name}");
        }
        for flag in StreamFlag::ALL {
            assert_eq!(masks.stream >> flag.code() & 1 == 1, grants.stream.contains(flag), "{name}");
        }
        for flag in TopicFlag::ALL {
            assert_eq!(masks.topic >> flag.code() & 1 == 1, grants.topic.contains(flag), "{name}");
        }
    }
}

fn permissions() -> impl Strategy<Value = Permissions> {
    let topics = btree_map(any::<u32>(), 0_u16..16, 0..4);
    let topics = topics.prop_map(|topics| {
        topics.into_iter().map(|(topic, flags)| TopicPermissions { topic, flags }).collect::<Vec<_>>()
    });
    let streams = btree_map(any::<u32>(), (0_u16..64, topics), 0..4).prop_map(|streams| {
        let streams = streams.into_iter();
        streams
            .map(|(stream, (flags, topics))| StreamPermissions { stream, flags, topics })
            .collect::<Vec<_>>()
    });
    (0_u16..1024, streams.prop_shuffle()).prop_map(|(global, streams)| Permissions { global, streams })
}

proptest! {
    #[test]
    fn what_is_written_is_read(permissions in permissions()) {
        prop_assert_eq!(Permissions::decode(&block(&permissions)), Ok(permissions));
    }

    #[test]
    fn what_is_read_is_written(bits in vec(0_u8..=1, 0..80)) {
        if let Ok(permissions) = Permissions::decode(&bits) {
            prop_assert_eq!(block(&permissions), bits);
        }
    }
}
