//! What the bodies of requests must not be able to do to their decoders.

use ng_wire::frame::HEADER_BYTES;
use ng_wire::reply::evicted;
use ng_wire::request::{Credentials, Register, RegisterFault, client_id, option_scope};
use ng_wire::version;

/// Takes `body` for the body of every command that has one, and for what follows the names in a registration.
pub fn request_body(body: &[u8]) {
    assert_eq!(client_id(body).is_ok(), body.len() == 4);
    assert_eq!(option_scope(body).is_ok(), matches!(body, [1..=3]));
    register(body);
    register(&[&version::MAX.packed().to_le_bytes()[..], b"\x03sdk\x031.2", body].concat());
}

fn register(body: &[u8]) {
    match Register::decode(body) {
        Ok(register) => assert_accounts_for(&register, body),
        Err(fault) => {
            assert!(!matches!(fault, RegisterFault::Version(version) if version.is_accepted()));
            let mut frame = Vec::new();
            evicted(&mut frame, 1, fault.eviction());
            assert!(frame.len() == HEADER_BYTES && frame[HEADER_BYTES - 1] >= 14);
        }
    }
}

/// Every byte of the body has to be part of something that was read.
fn assert_accounts_for(register: &Register<'_>, body: &[u8]) {
    assert!(register.version.is_accepted());
    let prefix = 4 + 1 + register.sdk_name.len() + 1 + register.sdk_version.len();
    let (proof, first) = match register.credentials {
        Credentials::Password { username, password } => (2 + username.len() + password.len(), username.len()),
        Credentials::Token(token) => (1 + token.len(), token.len()),
    };
    assert_eq!(usize::from(body[prefix]), first);
    // What is left is the context: its length, and exactly that many bytes.
    let context = &body[prefix + proof..];
    assert_eq!(context[..4], u32::try_from(context.len() - 4).expect("a short body").to_le_bytes());
}
