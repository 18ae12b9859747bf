//! What the bodies of requests must not be able to do to their decoders.

use ng_wire::frame::HEADER_BYTES;
use ng_wire::permissions::Permissions;
use ng_wire::reply::evicted;
use ng_wire::request::{
    CreateStream, CreateTopic, Credentials, DeleteOffset, DeleteSegments, FlushUnsaved, OPTIONS_MAX,
    OffsetTarget, OptionBlock, PartitionsChange, PollMessages, Register, RegisterFault, SendMessages,
    StoreOffset, StreamTarget, TopicTarget, UpdateStream, UpdateTopic, client_id, option_scope,
};
use ng_wire::version;

/// Takes `body` for the body of every command that has one, and for what follows the names in a registration.
pub fn request_body(body: &[u8]) {
    assert_eq!(client_id(body).is_ok(), body.len() == 4);
    assert_eq!(option_scope(body).is_ok(), matches!(body, [1..=3]));
    of_streams(body);
    of_messages(body);
    of_users(body);
    register(body);
    register(&[&version::MAX.packed().to_le_bytes()[..], b"\x03sdk\x031.2", body].concat());
}

fn of_streams(body: &[u8]) {
    let _ = (StreamTarget::decode(body), TopicTarget::decode(body));
    let _ = (DeleteSegments::decode(body), FlushUnsaved::decode(body));
    if let Ok(change) = PartitionsChange::decode(body) {
        assert_eq!(change.check().is_ok(), (1..=1000).contains(&change.count));
    }
    if let Ok(stream) = CreateStream::decode(body) {
        assert_eq!(stream.check().is_ok(), stream.options.bytes().is_empty());
        block(stream.options, body);
    }
    if let Ok(stream) = UpdateStream::decode(body) {
        assert_eq!(stream.check().is_ok(), stream.options.bytes().is_empty());
    }
    if let Ok(topic) = CreateTopic::decode(body) {
        assert!(topic.check().is_err() || topic.partitions <= 1000);
        block(topic.options, body);
    }
    if let Ok(topic) = UpdateTopic::decode(body) {
        assert!(topic.check().is_err() || topic.options.entries().is_ok());
    }
}

/// Options run to the end of a body, and those that are read account for every byte of their block.
fn block(options: OptionBlock<'_>, body: &[u8]) {
    assert!(body.ends_with(options.bytes()));
    if let Ok(entries) = options.entries() {
        let bytes = entries.iter().map(|entry| 10 + entry.key.len() + entry.value.len());
        assert_eq!(bytes.sum::<usize>(), options.bytes().len());
        assert!(entries.len() <= OPTIONS_MAX);
    }
}

fn of_messages(body: &[u8]) {
    let _ = (PollMessages::decode(body), OffsetTarget::decode(body));
    let _ = (StoreOffset::decode(body), DeleteOffset::decode(body));
    if let Ok(send) = SendMessages::decode(body) {
        assert_eq!(&body[send.batch_start..], send.batch);
        assert!(send.check().is_err() || send.messages > 0);
    }
}

/// A block of permissions is written as it was read.
fn of_users(body: &[u8]) {
    if let Ok(permissions) = Permissions::decode(body) {
        let mut block = Vec::new();
        permissions.put(&mut block);
        assert_eq!(block, body);
    }
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
