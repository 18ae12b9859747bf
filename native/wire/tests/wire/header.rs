//! Request headers: round trips, what is judged, and what is not.

use ng_wire::frame::{FRAME_BYTES_MAX, FrameFault, HEADER_BYTES, RequestHeader, begins_legacy};
use ng_wire::table::command::{Command, Unknown};
use ng_wire::table::error::ErrorCode;
use ng_wire::table::operation::Operation;
use proptest::prelude::*;

fn header() -> impl Strategy<Value = RequestHeader> {
    let numbers = (any::<u128>(), any::<u128>(), any::<u64>(), any::<u64>(), any::<u64>());
    (256..=FRAME_BYTES_MAX, numbers, any::<u8>(), any::<u32>()).prop_map(
        |(size, numbers, operation, code)| {
            let (client, request_checksum, timestamp, request, session) = numbers;
            RequestHeader { size, client, request_checksum, timestamp, request, operation, session, code }
        },
    )
}

/// A header of a client with a session, about to send its first request.
fn ready() -> RequestHeader {
    RequestHeader {
        size: 256,
        client: 1,
        request_checksum: 0,
        timestamp: 0,
        request: 1,
        operation: Operation::NonReplicated.code(),
        session: 1,
        code: Command::Ping.code(),
    }
}

proptest! {
    #[test]
    fn decode_reads_what_encode_wrote(header in header()) {
        prop_assert_eq!(RequestHeader::decode(&header.encode(), FRAME_BYTES_MAX), Ok(header));
        prop_assert_eq!(header.body_bytes() + HEADER_BYTES, header.size as usize);
    }

    #[test]
    fn unread_bytes_change_nothing(header in header(), noise in any::<[u8; 32]>()) {
        let mut bytes = header.encode();
        for (from, to) in [(0, 48), (52, 60), (61, 128), (177, 184), (192, 196), (200, 256)] {
            bytes[from..to].iter_mut().zip(noise.iter().cycle()).for_each(|(byte, noise)| *byte = *noise);
        }
        prop_assert_eq!(RequestHeader::decode(&bytes, FRAME_BYTES_MAX), Ok(header));
    }

    #[test]
    fn only_sizes_and_commands_are_faults(bytes in any::<[u8; 256]>(), max in 256..=FRAME_BYTES_MAX) {
        let size = u32::from_le_bytes([bytes[48], bytes[49], bytes[50], bytes[51]]);
        let expected = match (size, bytes[60]) {
            (size, _) if size < 256 || size > max => Some(FrameFault::Size(size)),
            (_, command) if command != 5 => Some(FrameFault::Command(command)),
            _ => None,
        };
        prop_assert_eq!(RequestHeader::decode(&bytes, max).err(), expected);
    }

    #[test]
    fn any_other_first_word_is_legacy(first in any::<[u8; 4]>(), arrived in 1_usize..=4) {
        let expected = first[..arrived].iter().any(|byte| *byte != 0);
        prop_assert_eq!(begins_legacy(&first[..arrived]), expected);
    }
}

#[test]
fn size_bounds_are_inclusive() {
    let decode = |size, max| RequestHeader::decode(&RequestHeader { size, ..ready() }.encode(), max);
    assert_eq!(decode(255, 1000), Err(FrameFault::Size(255)));
    assert!(decode(256, 1000).is_ok());
    assert!(decode(1000, 1000).is_ok());
    assert_eq!(decode(1001, 1000), Err(FrameFault::Size(1001)));
}

#[test]
fn bytes_behind_the_first_word_do_not_make_a_frame_legacy() {
    assert!(!begins_legacy(&[0, 0, 0, 0, 9]));
    assert!(!begins_legacy(&[]));
    assert!(begins_legacy(&[0x16, 0x03]));
}

#[test]
fn fields_have_to_go_together() {
    let verdict = |change: &dyn Fn(&mut RequestHeader)| {
        let mut header = ready();
        change(&mut header);
        header.check()
    };
    let bad = Err(ErrorCode::InvalidCommand);
    assert_eq!(verdict(&|_| ()), Ok(()));
    assert_eq!(verdict(&|header| header.client = 0), bad);
    assert_eq!(verdict(&|header| header.operation = 0), bad);
    assert_eq!(verdict(&|header| (header.session, header.request) = (0, 0)), Ok(()));
    for (session, request, register, other) in
        [(0, 0, Ok(()), bad), (1, 0, bad, bad), (0, 1, bad, bad), (1, 1, bad, Ok(()))]
    {
        let with = |operation: u8| {
            verdict(&|header| {
                (header.session, header.request, header.operation) = (session, request, operation);
            })
        };
        assert_eq!(with(Operation::Register.code()), register, "session {session}, request {request}");
        for operation in [Operation::Logout.code(), Operation::CreateStream.code(), 160, 64, 99] {
            assert_eq!(with(operation), other, "operation {operation}, {session}, {request}");
        }
    }
}

#[test]
fn an_unstamped_body_is_believed_and_a_wrong_stamp_is_not() {
    assert_eq!(ready().verify_body(b"anything"), Ok(()));
    let stamped = |request_checksum| RequestHeader { request_checksum, ..ready() };
    assert_eq!(stamped(0x327d_5d19_644d_82d7).verify_body(b"\x06orders"), Ok(()));
    let high_half = 0x327d_5d19_644d_82d7 | 1 << 64;
    assert_eq!(stamped(high_half).verify_body(b"\x06orders"), Err(ErrorCode::InvalidFormat));
}

#[test]
fn every_operation_byte_and_every_code_resolves() {
    let resolve = |operation, code| Command::resolve(&RequestHeader { operation, code, ..ready() });
    for command in Command::ALL {
        let row = command.row();
        let by_code = resolve(Operation::NonReplicated.code(), row.code);
        match row.operation {
            Operation::NonReplicated => assert_eq!(by_code, Ok(*command)),
            Operation::Register => {
                assert_eq!(resolve(row.operation.code(), 0), Ok(Command::LoginRegister));
                assert_eq!(by_code, Err(Unknown::Misplaced(*command)));
            }
            operation => {
                assert_eq!(resolve(operation.code(), 7), Ok(*command));
                assert_eq!(by_code, Err(Unknown::Misplaced(*command)));
            }
        }
    }
    for operation in [0, 4, 63, 64, 65, 66, 67, 68, 127, 150, 159, 163, 255] {
        assert_eq!(resolve(operation, 1), Err(Unknown::Operation(operation)));
    }
    for code in [0, 2, 99, 105, 607, u32::MAX] {
        assert_eq!(resolve(2, code), Err(Unknown::Code(code)));
    }
    assert_eq!(Unknown::Code(2).status(), ErrorCode::InvalidCommand);
    assert_eq!(Unknown::Operation(64).status(), ErrorCode::InvalidCommand);
    assert_eq!(Unknown::Misplaced(Command::CreateStream).status(), ErrorCode::FeatureUnavailable);
}
