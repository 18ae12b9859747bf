//! Every golden frame, read or written byte for byte.

use ng_wire::checksum::xxh3_64;
use ng_wire::frame::{FRAME_BYTES_MAX, RequestHeader, begins_legacy};
use ng_wire::primitive::{Name, put_name8, put_u32, put_u64};
use ng_wire::reply::{Position, Registered, denied, evicted, ok, rejected};
use ng_wire::request::{Credentials, Register};
use ng_wire::table::command::Command;
use ng_wire::table::error::ErrorCode;
use ng_wire::table::eviction::EvictionReason;
use ng_wire::version;

use crate::vectors::{CLIENT, golden, head};

fn request(name: &str) -> RequestHeader {
    RequestHeader::decode(head(&golden(name)), FRAME_BYTES_MAX).expect("a golden request decodes")
}

#[test]
fn requests_are_whole_and_name_their_commands() {
    let requests = [
        ("register_password_request", Command::LoginRegister, 0, 0),
        ("register_token_request", Command::LoginRegister, 0, 0),
        ("ping_request", Command::Ping, 1, 0),
        ("create_stream_request", Command::CreateStream, 2, 11),
        ("create_stream_request_session_101", Command::CreateStream, 1, 101),
        ("get_stream_request", Command::GetStream, 3, 11),
        ("logout_request", Command::Logout, 4, 11),
    ];
    for (name, command, number, session) in requests {
        let frame = golden(name);
        let header = request(name);
        assert!(!begins_legacy(&frame), "{name}");
        assert_eq!(header.size as usize, frame.len(), "{name}");
        assert_eq!(header.body_bytes(), frame.len() - 256, "{name}");
        assert_eq!((header.client, header.request, header.session), (CLIENT, number, session), "{name}");
        assert_eq!(header.check(), Ok(()), "{name}");
        assert_eq!(header.verify_body(&frame[256..]), Ok(()), "{name}");
        assert_eq!(Command::resolve(&header), Ok(command), "{name}");
        assert_eq!(header.encode(), *head(&frame), "{name}");
    }
}

#[test]
fn headers_without_their_bodies() {
    for (name, command, size) in [
        ("create_stream_header", Command::CreateStream, 260),
        ("send_messages_header", Command::SendMessages, 256 + 419),
    ] {
        let header = request(name);
        assert_eq!((header.size, header.request_checksum), (size, 0), "{name}");
        assert_eq!(Command::resolve(&header), Ok(command), "{name}");
        assert_eq!(header.encode(), *head(&golden(name)), "{name}");
    }
}

#[test]
fn a_changed_body_breaks_its_stamp() {
    let mut frame = golden("create_stream_request");
    frame[260] ^= 1;
    assert_eq!(request("create_stream_request").verify_body(&frame[256..]), Err(ErrorCode::InvalidFormat));
}

#[test]
fn hashes() {
    assert_eq!(xxh3_64(b""), 0x2d06_8005_38d3_94c2);
    assert_eq!(xxh3_64(b"\x06orders"), 0x327d_5d19_644d_82d7);
}

#[test]
fn a_registration_by_password() {
    let frame = golden("register_password_request");
    assert_eq!(frame[256..], golden("register_password_body"));
    let register = Register::decode(&frame[256..]).expect("a golden registration decodes");
    assert_eq!(register.version, version::MAX);
    assert_eq!((register.sdk_name, register.sdk_version), ("rust-sdk", "0.11.0"));
    assert_eq!(register.credentials, Credentials::Password { username: "iggy", password: b"iggy" });
}

#[test]
fn a_registration_by_token() {
    let register_frame = golden("register_token_request");
    let register = Register::decode(&register_frame[256..]).expect("a golden registration decodes");
    assert_eq!(register.credentials, Credentials::Token(b"tok-123"));
}

fn written(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut frame = Vec::new();
    write(&mut frame);
    frame
}

fn at(op: u64) -> Position {
    Position { op, commit: op }
}

#[test]
fn a_session_made() {
    let server_version = Name::new("0.9.0").expect("a name");
    let session = |session| Registered { user_id: 0, session, server_version };
    let reply = written(|into| {
        ok(into, &request("register_password_request"), at(11), |body| session(11).put(body));
    });
    assert_eq!(reply, golden("register_reply"));
    let body = written(|into| {
        put_u32(into, 0);
        session(101).put(into);
    });
    assert_eq!(body, golden("registered_body"));
}

#[test]
fn replies_with_and_without_a_result_section() {
    let stream = |body: &mut Vec<u8>, id| {
        put_u32(body, id);
        put_u64(body, 1_710_000_000_000_000);
        put_u32(body, 0);
        put_u64(body, 0);
        put_u64(body, 0);
        put_name8(body, Name::new("orders").expect("a name"));
        put_u32(body, 0);
    };
    let ping = written(|into| ok(into, &request("ping_request"), Position::default(), |_| ()));
    assert_eq!(ping, golden("ping_reply"));
    let logout = written(|into| ok(into, &request("logout_request"), at(14), |_| ()));
    assert_eq!(logout, golden("logout_reply"));
    let create = written(|into| ok(into, &request("create_stream_request"), at(12), |body| stream(body, 1)));
    assert_eq!(create, golden("create_stream_reply"));
    let get = request("get_stream_request");
    let get = written(|into| ok(into, &get, Position::default(), |body| stream(body, 1)));
    assert_eq!(get, golden("get_stream_reply"));
}

#[test]
fn refusals() {
    let create = request("create_stream_request");
    let reply = written(|into| rejected(into, &create, at(13), ErrorCode::StreamNameAlreadyExists));
    assert_eq!(reply, golden("create_stream_rejected"));
    assert_eq!(reply[256..], golden("rejected_body"));
    let reply = written(|into| denied(into, &request("get_stream_request"), ErrorCode::Unauthenticated));
    assert_eq!(reply, golden("get_stream_denied"));
}

#[test]
fn evictions() {
    let frame = written(|into| evicted(into, CLIENT, EvictionReason::InvalidCredentials));
    assert_eq!(frame, golden("evicted_invalid_credentials"));
    let frame = written(|into| evicted(into, CLIENT, EvictionReason::IncompatibleProtocol));
    assert_eq!(frame, golden("evicted_incompatible_protocol"));
}
