//! Registrations and the other request bodies: round trips, cuts, and what tells the two shapes apart.

use ng_wire::primitive::{Malformed, Name, Reader, put_bytes32, put_name8, put_u8, put_u32};
use ng_wire::request::{Credentials, OptionScope, Register, RegisterFault, client_id, option_scope};
use ng_wire::table::error::ErrorCode;
use ng_wire::table::eviction::EvictionReason;
use ng_wire::version::{self, Version};
use proptest::prelude::*;

fn prefix(version: Version) -> Vec<u8> {
    let mut body = Vec::new();
    put_u32(&mut body, version.packed());
    put_name8(&mut body, Name::new("sdk").expect("a name"));
    put_name8(&mut body, Name::new("1.2").expect("a name"));
    body
}

#[test]
fn only_the_client_without_a_cap_takes_long_replies() {
    for (sdk_name, reply_bytes_max) in
        [("rust-sdk", 128 << 20), ("go-sdk", 64 << 20), ("rust-sdk-2", 64 << 20), ("Rust-SDK", 64 << 20)]
    {
        let body = token_body(b"token", "");
        let register = Register::decode(&body).expect("what was written is read");
        assert_eq!(Register { sdk_name, ..register }.reply_bytes_max(), reply_bytes_max, "{sdk_name}");
    }
}

fn put_bytes8(into: &mut Vec<u8>, bytes: &[u8]) {
    put_u8(into, u8::try_from(bytes.len()).expect("at most 255 bytes"));
    into.extend_from_slice(bytes);
}

fn password_body(username: &str, password: &[u8], context: &str) -> Vec<u8> {
    let mut body = prefix(version::MAX);
    put_name8(&mut body, Name::new(username).expect("a name"));
    put_bytes8(&mut body, password);
    put_bytes32(&mut body, context.as_bytes());
    body
}

fn token_body(token: &[u8], context: &str) -> Vec<u8> {
    let mut body = prefix(version::MAX);
    put_bytes8(&mut body, token);
    put_bytes32(&mut body, context.as_bytes());
    body
}

fn name() -> impl Strategy<Value = String> {
    "\\PC{1,60}"
}

proptest! {
    #[test]
    fn a_password_is_read_as_written(
        username in name(), password in prop::collection::vec(any::<u8>(), 0..=255), context in "\\PC{0,20}"
    ) {
        let body = password_body(&username, &password, &context);
        let register = Register::decode(&body).expect("what was written is read");
        prop_assert_eq!((register.sdk_name, register.sdk_version), ("sdk", "1.2"));
        let expected = Credentials::Password { username: &username, password: &password };
        prop_assert_eq!(register.credentials, expected);
    }

    /// With an empty context no token can be read as a user and a password: a byte is missing at the end.
    #[test]
    fn a_token_is_read_as_written(token in prop::collection::vec(any::<u8>(), 0..=255)) {
        let body = token_body(&token, "");
        let register = Register::decode(&body).expect("what was written is read");
        prop_assert_eq!(register.credentials, Credentials::Token(&token));
    }

    #[test]
    fn a_cut_or_longer_body_is_malformed(
        username in name(), cut in any::<prop::sample::Index>(), extra in 1..40_usize
    ) {
        let body = password_body(&username, b"secret", "");
        let fault = Register::decode(&body[..cut.index(body.len())]).expect_err("a cut body is refused");
        prop_assert_eq!(fault.eviction(), EvictionReason::MalformedLogin);
        let longer = [&body[..], &vec![1; extra]].concat();
        prop_assert_eq!(Register::decode(&longer), Err(RegisterFault::Shape));
    }

    #[test]
    fn arbitrary_bodies_are_refused_or_read(body in prop::collection::vec(any::<u8>(), 0..600)) {
        let behind_prefix = [prefix(version::MAX), body.clone()].concat();
        for body in [&body, &behind_prefix] {
            if let Ok(register) = Register::decode(body) {
                prop_assert!(register.version.is_accepted());
            }
        }
        let client = <[u8; 4]>::try_from(&body[..]).map(u32::from_le_bytes);
        prop_assert_eq!(client_id(&body).ok(), client.ok());
    }

    #[test]
    fn versions_pack_and_unpack(major in 0..1024_u32, minor in 0..1024_u32, patch in 0..1024_u32) {
        let version = Version::pack(major, minor, patch);
        prop_assert_eq!(version.parts(), (major, minor, patch));
        prop_assert_eq!(Version::from_packed(version.packed()), version);
        prop_assert_eq!(version.is_accepted(), (major, minor) == (0, 11));
    }
}

#[test]
fn the_version_is_judged_before_the_credentials() {
    assert_eq!(version::MAX.packed(), 11264);
    assert_eq!(version::MIN, Version::pack(0, 11, 0));
    assert_eq!(version::MAX.to_string(), "0.11.0");
    for refused in [
        Version::pack(0, 10, 1023),
        Version::pack(0, 12, 0),
        Version::pack(1, 0, 0),
        Version::from_packed(1 << 30),
    ] {
        let fault = Register::decode(&prefix(refused)).expect_err("outside the window");
        assert_eq!(fault, RegisterFault::Version(refused));
        assert_eq!(fault.eviction(), EvictionReason::IncompatibleProtocol);
    }
    let newer_patch = [prefix(Version::pack(0, 11, 7)), token_body(b"t", "")[12..].to_vec()].concat();
    assert!(Register::decode(&newer_patch).is_ok());
}

#[test]
fn what_a_prefix_may_not_be() {
    let nameless = [&version::MAX.packed().to_le_bytes()[..], &[0, 1, b'x']].concat();
    let not_utf8 = [&version::MAX.packed().to_le_bytes()[..], &[1, 0xff, 1, b'x']].concat();
    for body in [&[][..], &[0, 0x2c], &nameless, &not_utf8] {
        assert_eq!(Register::decode(body), Err(RegisterFault::Prefix));
    }
    assert_eq!(Register::decode(&prefix(version::MAX)), Err(RegisterFault::Shape));
}

#[test]
fn secrets_are_not_printed() {
    let password = password_body("alice", b"hunter2hunter2", "");
    let shown = format!("{:?}", Register::decode(&password).expect("a registration"));
    assert!(shown.contains("alice") && !shown.contains("hunter2") && !shown.contains("104, 117"), "{shown}");
    let token = token_body(b"hunter2hunter2", "");
    let shown = format!("{:?}", Register::decode(&token).expect("a registration"));
    assert!(!shown.contains("hunter2") && !shown.contains("104, 117"), "{shown}");
}

#[test]
fn small_bodies() {
    assert_eq!(client_id(&7_u32.to_le_bytes()), Ok(7));
    assert_eq!(client_id(&[1, 2, 3]), Err(Malformed::Short { missing: 1 }));
    assert_eq!(client_id(&[0; 6]), Err(Malformed::Trailing { extra: 2 }));
    assert_eq!(option_scope(&[1]), Ok(OptionScope::Topic));
    assert_eq!(option_scope(&[2]), Ok(OptionScope::Stream));
    assert_eq!(option_scope(&[3]), Ok(OptionScope::User));
    assert_eq!(option_scope(&[4]), Err(Malformed::Value(4)));
    assert_eq!(option_scope(&[1, 0]), Err(Malformed::Trailing { extra: 1 }));
    assert_eq!(ErrorCode::from(Malformed::NotUtf8), ErrorCode::InvalidCommand);
}

#[test]
fn lengths_are_held_against_what_is_left() {
    assert_eq!(Reader::new(&[0xff; 4]).str32(), Err(Malformed::Short { missing: u32::MAX as usize }));
    assert_eq!(Reader::new(&[200, 1]).name8(), Err(Malformed::Short { missing: 199 }));
    assert_eq!(Reader::new(&[0]).name8(), Err(Malformed::EmptyName));
    assert_eq!(Reader::new(&[0]).str8(), Ok(""));
    assert_eq!(Reader::new(&[1, 0x80]).str8(), Err(Malformed::NotUtf8));
    let mut reader = Reader::new(&[7; 31]);
    assert_eq!((reader.u8(), reader.u16(), reader.u32()), (Ok(7), Ok(0x0707), Ok(0x0707_0707)));
    assert_eq!((reader.u64(), reader.u128()), (Ok(0x0707_0707_0707_0707), Ok(u128::from_le_bytes([7; 16]))));
    assert_eq!((reader.remaining(), reader.finish()), (0, Ok(())));
    assert!(Name::new("").is_none() && Name::new(&"x".repeat(256)).is_none());
    assert_eq!(Name::new("abc").map(Name::as_str), Some("abc"));
}
