//! Replies: headers that echo, sections where clients strip them, and bodies read back field by field.

use ng_wire::frame::{FRAME_BYTES_MAX, RequestHeader};
use ng_wire::primitive::Reader;
use ng_wire::reply::{
    Client, Cluster, Membership, Node, Position, Stats, denied, evicted, ok, ok_within, put_options, rejected,
};
use ng_wire::request::OptionScope;
use ng_wire::table::error::ErrorCode;
use ng_wire::table::eviction::EvictionReason;
use ng_wire::table::operation::Operation;
use ng_wire::table::roster::{NodeRole, NodeStatus};
use ng_wire::table::topic_option::TOPIC_OPTIONS;
use ng_wire::table::transport::Transport;
use proptest::prelude::*;

use crate::vectors::ReplyRead;

fn request() -> impl Strategy<Value = RequestHeader> {
    let numbers = (any::<u128>(), any::<u128>(), any::<u64>(), any::<u64>(), any::<u64>());
    (numbers, any::<u8>(), any::<u32>()).prop_map(|(numbers, operation, code)| {
        let (client, request_checksum, timestamp, request, session) = numbers;
        RequestHeader { size: 256, client, request_checksum, timestamp, request, operation, session, code }
    })
}

fn read_back(request: &RequestHeader, at: Position, status: u32, body: Vec<u8>) -> ReplyRead {
    ReplyRead {
        size: 256 + u32::try_from(body.len()).expect("a short body"),
        command: 8,
        request_checksum: request.request_checksum,
        client: request.client,
        op: at.op,
        commit: at.commit,
        timestamp: request.timestamp,
        request: request.request,
        operation: request.operation,
        status,
        body,
    }
}

/// The operations whose replies clients strip, as a client lists them.
fn is_stripped(operation: u8) -> bool {
    matches!(operation, 1 | 64..=68 | 128..=137 | 139..=149 | 161 | 162)
}

proptest! {
    #[test]
    fn replies_echo_their_request(
        request in request(), op in any::<u64>(), commit in any::<u64>(),
        body in prop::collection::vec(any::<u8>(), 0..400)
    ) {
        let at = Position { op, commit };
        // Frames are appended: what was there before stays.
        let mut frames = vec![0xaa; 3];
        ok(&mut frames, &request, at, |into| into.extend_from_slice(&body));
        let section: &[u8] = if is_stripped(request.operation) { &[0; 4] } else { &[] };
        let expected = read_back(&request, at, 0, [section, &body].concat());
        prop_assert_eq!(&frames[..3], &[0xaa; 3]);
        prop_assert_eq!(ReplyRead::of(&frames[3..]), expected);

        let mut frame = Vec::new();
        denied(&mut frame, &request, ErrorCode::Unauthorized);
        prop_assert_eq!(ReplyRead::of(&frame), read_back(&request, Position::default(), 41, Vec::new()));

        let mut frame = Vec::new();
        rejected(&mut frame, &request, at, ErrorCode::TransientNotAccepted);
        let section = [1, 0, 0, 0, 0, 0, 0, 0, 58, 0, 0, 0].to_vec();
        prop_assert_eq!(ReplyRead::of(&frame), read_back(&request, at, 0, section));
    }

    #[test]
    fn evictions_name_client_and_reason(client in any::<u128>(), reason in 0..16_u8) {
        let mut frame = Vec::new();
        let reason = EvictionReason::from_code(reason).expect("0 to 15 are reasons");
        evicted(&mut frame, client, reason);
        prop_assert_eq!(frame.len(), 256);
        prop_assert_eq!((frame[48..52].to_vec(), frame[60]), (vec![0, 1, 0, 0], 13));
        prop_assert_eq!(&frame[128..144], client.to_le_bytes());
        let window: &[u8] =
            if reason.code() == 14 { &[0, 0x2c, 0, 0, 0, 0x2c, 0, 0] } else { &[0; 8] };
        prop_assert_eq!(&frame[144..152], window);
        prop_assert_eq!(frame[255], reason.code());
    }

    #[test]
    fn clients_are_read_back(
        client_id in any::<u32>(), user_id in prop::option::of(0..u32::MAX), address in "\\PC{0,40}",
        groups in prop::collection::vec(any::<[u32; 3]>(), 0..5)
    ) {
        let memberships: Vec<_> = groups
            .iter()
            .map(|[stream_id, topic_id, group_id]| Membership {
                stream_id: *stream_id, topic_id: *topic_id, group_id: *group_id,
            })
            .collect();
        let client = Client {
            client_id, user_id, transport: Transport::Tcp, address: &address, memberships: &memberships,
        };
        let mut body = Vec::new();
        client.put_details(&mut body);
        let mut reader = Reader::new(&body);
        prop_assert_eq!(reader.u32(), Ok(client_id));
        prop_assert_eq!(reader.u32(), Ok(user_id.unwrap_or(u32::MAX)));
        prop_assert_eq!(reader.u8(), Ok(1));
        prop_assert_eq!(reader.str32(), Ok(&address[..]));
        prop_assert_eq!(reader.u32().map(|count| count as usize), Ok(groups.len()));
        for group in groups {
            prop_assert_eq!([reader.u32(), reader.u32(), reader.u32()], group.map(Ok));
        }
        prop_assert_eq!(reader.finish(), Ok(()));
        let mut listed = Vec::new();
        client.put(&mut listed);
        prop_assert_eq!(&body[..listed.len()], &listed[..]);
        prop_assert_eq!(listed.len() + 12 * memberships.len(), body.len());
    }
}

#[test]
fn a_body_nobody_would_accept_is_answered_with_an_error() {
    let request = RequestHeader {
        size: 256,
        client: 1,
        request_checksum: 0,
        timestamp: 0,
        request: 1,
        operation: Operation::NonReplicated.code(),
        session: 1,
        code: 22,
    };
    let longest = FRAME_BYTES_MAX as usize - 256;
    let mut frame = Vec::new();
    ok(&mut frame, &request, Position::default(), |into| into.resize(into.len() + longest, 7));
    assert_eq!(frame.len(), FRAME_BYTES_MAX as usize);
    assert_eq!(ReplyRead::of(&frame[..256]).size, FRAME_BYTES_MAX);
    let mut frame = Vec::new();
    ok(&mut frame, &request, Position::default(), |into| into.resize(into.len() + longest + 1, 7));
    assert_eq!(ReplyRead::of(&frame), read_back(&request, Position::default(), 4029, Vec::new()));
    for (frame_bytes_max, status) in [(1256, 0), (1255, 4029)] {
        let mut frame = Vec::new();
        ok_within(frame_bytes_max, &mut frame, &request, Position::default(), |into| {
            into.resize(into.len() + 1000, 7);
        });
        let body = if status == 0 { vec![7; 1000] } else { Vec::new() };
        assert_eq!(ReplyRead::of(&frame), read_back(&request, Position::default(), status, body));
    }
}

#[test]
fn a_roster_is_read_back() {
    let node = Node {
        name: "iggy-node",
        host: "127.0.0.1",
        tcp: 8090,
        quic: 8080,
        http: 3000,
        websocket: 8092,
        role: NodeRole::Leader,
        status: NodeStatus::Maintenance,
    };
    let mut body = Vec::new();
    Cluster { name: "single-node", nodes: &[node, Node { role: NodeRole::Follower, ..node }] }.put(&mut body);
    let mut reader = Reader::new(&body);
    assert_eq!((reader.str32(), reader.u32()), (Ok("single-node"), Ok(2)));
    for role in [0, 1] {
        assert_eq!((reader.str32(), reader.str32()), (Ok("iggy-node"), Ok("127.0.0.1")));
        let ports = [reader.u16(), reader.u16(), reader.u16(), reader.u16()];
        assert_eq!(ports, [8090, 8080, 3000, 8092].map(Ok));
        assert_eq!((reader.u8(), reader.u8()), (Ok(role), Ok(4)));
    }
    assert_eq!(reader.finish(), Ok(()));
}

#[test]
fn stats_are_read_back() {
    let stats = Stats {
        process_id: 1,
        cpu_usage: 2.5,
        total_cpu_usage: 3.5,
        memory_usage: 4,
        total_memory: 5,
        available_memory: 6,
        run_time: 7,
        start_time: 8,
        read_bytes: 9,
        written_bytes: 10,
        messages_size_bytes: 11,
        streams_count: 12,
        topics_count: 13,
        partitions_count: 14,
        segments_count: 15,
        messages_count: 16,
        clients_count: 17,
        consumer_groups_count: 18,
        hostname: "host",
        os_name: "os",
        os_version: "os 1",
        kernel_version: "kernel",
        server_version: "0.9.0",
        server_semver: 9000,
        threads_count: 19,
        free_disk_space: 20,
        total_disk_space: 21,
    };
    let mut body = Vec::new();
    stats.put(&mut body);
    let mut reader = Reader::new(&body);
    let percent = [2.5_f32, 3.5].map(|value| Ok(value.to_bits()));
    assert_eq!((reader.u32(), [reader.u32(), reader.u32()]), (Ok(1), percent));
    for expected in 4..=11 {
        assert_eq!(reader.u64(), Ok(expected));
    }
    for expected in 12..=15 {
        assert_eq!(reader.u32(), Ok(expected));
    }
    assert_eq!((reader.u64(), reader.u32(), reader.u32()), (Ok(16), Ok(17), Ok(18)));
    assert_eq!(body.len() - reader.remaining(), 108, "the part in front of the texts");
    for expected in ["host", "os", "os 1", "kernel", "0.9.0"] {
        assert_eq!(reader.str32(), Ok(expected));
    }
    assert_eq!((reader.u32(), reader.u32(), reader.u32()), (Ok(9000), Ok(0), Ok(19)));
    assert_eq!((reader.u64(), reader.u64(), reader.finish()), (Ok(20), Ok(21), Ok(())));
}

#[test]
fn options_are_read_back() {
    for scope in [OptionScope::Stream, OptionScope::User] {
        let mut body = Vec::new();
        put_options(&mut body, scope);
        assert_eq!(body, [0; 4]);
    }
    let mut body = Vec::new();
    put_options(&mut body, OptionScope::Topic);
    let mut reader = Reader::new(&body);
    assert_eq!(reader.u32().map(|count| count as usize), Ok(TOPIC_OPTIONS.len()));
    for option in TOPIC_OPTIONS {
        assert_eq!(reader.name8(), Ok(option.key));
        let kind = reader.u8().expect("a kind");
        let default = reader.u32().and_then(|count| reader.bytes(count as usize)).expect("a default");
        assert_eq!(kind, option.default.kind().code());
        match kind {
            2 => assert!(!default.is_empty()),
            3 => assert_eq!(default, [0]),
            11 => assert_eq!(default, 1024_u32.to_le_bytes()),
            12 => assert_eq!(default.len(), 8),
            other => panic!("{} has kind {other}", option.key),
        }
        assert_eq!(reader.str32(), Ok(option.sentence));
    }
    assert_eq!(reader.finish(), Ok(()));
}
