//! Replica frames of every kind: one of each, and any of each.

use ng_wire::replica::{
    BEAT_ENTRIES_MAX, Beat, BeatEntry, BodyCheck, Commit, Content, DoViewChange, FetchState, Frame, Level,
    Message, Op, Prepare, PrepareHeader, PrepareOk, Probe, ProbeReply, RequestPrepares, RequestStartView,
    Standing, StartView, StartViewChange, StateChunk, SuffixEntry, Tail, TransferOffer, View, xxh3_128,
};
use proptest::prelude::*;

/// The body of the golden prepare.
pub(crate) const BODY: &[u8] = b"create stream orders";

/// The operation of the golden frames.
pub(crate) fn header() -> PrepareHeader {
    PrepareHeader {
        checksum: 0,
        body_checksum: xxh3_128(BODY),
        parent: PrepareHeader::root(1 << 63, 1).checksum,
        client: 0x100f_0e0d_0c0b_0a09_0807_0605_0403_0201,
        group: 1 << 63,
        op: Op(1),
        view: View(2),
        request: 3,
        timestamp: 1_700_000_000_000_000,
        commit: Op(0),
        level: Level::Persisted,
        operation: 18,
        body_bytes: u32::try_from(BODY.len()).expect("a short body"),
        epoch: 1,
        body_check: BodyCheck::Whole,
    }
    .sealed()
}

/// The golden part of a state.
pub(crate) const STATE: &[u8] = b"streams and topics";

/// One content of each kind, by the name of its golden file.
pub(crate) fn each() -> Vec<(&'static str, Content)> {
    let messages = each_message().into_iter().map(|(name, message)| (name, Content::Message(message)));
    let entries = vec![
        BeatEntry { group: 1 << 63, view: View(5), commit_max: Op(1), head: Op(2) },
        BeatEntry { group: 4097, view: View(0), commit_max: Op(9), head: Op(9) },
    ];
    let chunk = StateChunk {
        nonce: 77,
        position: 100,
        total: 118,
        checksum: xxh3_128(STATE),
        bytes: u32::try_from(STATE.len()).expect("a short state"),
    };
    let others = [
        ("beat", Content::Beat(Beat { shard: 1, shards: 2, incarnation: 3, entries })),
        ("not_open", Content::NotOpen),
        ("opened", Content::Opened),
        (
            "fetch_state",
            Content::FetchState(FetchState {
                nonce: 77,
                anchor: header().checksum,
                position: 100,
                generation: 3,
                offset: 4096,
            }),
        ),
        ("state_chunk", Content::StateChunk(chunk)),
    ];
    messages.chain(others).collect()
}

/// What follows the sealed part of a golden frame.
pub(crate) const fn payload(content: &Content) -> &'static [u8] {
    match content {
        Content::Message(Message::Prepare(_)) => BODY,
        Content::StateChunk(_) => STATE,
        _ => &[],
    }
}

fn each_message() -> Vec<(&'static str, Message)> {
    let (view, header) = (View(5), header());
    let root = PrepareHeader::root(1 << 63, 1);
    let suffix = vec![
        SuffixEntry { header: Some(root), standing: Standing::Present },
        SuffixEntry { header: Some(header), standing: Standing::Present },
        SuffixEntry { header: None, standing: Standing::Damaged },
    ];
    let vote = DoViewChange {
        view,
        log_view: View(2),
        commit_min: Op(0),
        commit_max: Op(1),
        tail: Tail::Unproven,
        suffix,
    };
    vec![
        ("prepare", Message::Prepare(Prepare { view, commit_max: Op(0), header })),
        ("prepare_ok", Message::PrepareOk(PrepareOk { view, op: Op(1), checksum: header.checksum })),
        ("commit", Message::Commit(Commit { view, commit_max: Op(1), head: Op(2) })),
        ("start_view_change", Message::StartViewChange(StartViewChange { view: View(6), voted: view })),
        ("do_view_change", Message::DoViewChange(vote)),
        (
            "start_view",
            Message::StartView(StartView { view, commit_max: Op(1), nonce: 77, headers: vec![root, header] }),
        ),
        ("request_start_view", Message::RequestStartView(RequestStartView { view, nonce: 77 })),
        ("probe", Message::Probe(Probe { nonce: 77 })),
        ("probe_reply", Message::ProbeReply(ProbeReply { view, nonce: 77 })),
        ("request_prepares", Message::RequestPrepares(RequestPrepares { view, first: Op(1), last: Op(9) })),
        ("transfer_offer", Message::TransferOffer(TransferOffer { view, commit_max: Op(1), anchor: header })),
    ]
}

/// The frame of a golden file.
pub(crate) fn frame(content: Content) -> Frame {
    let (group, epoch) = if content.is_of_a_group() { (1 << 63, 1) } else { (0, 0) };
    Frame { cluster: 0xc1, group, epoch, replica: 2, content }
}

pub(crate) fn any_header() -> impl Strategy<Value = PrepareHeader> {
    let hashes = any::<(u128, u128, u128)>();
    let numbers = any::<(u64, u64, u64, u64, u64, u64)>();
    (hashes, numbers, any::<[bool; 2]>(), any::<u16>(), 0..64_u32, any::<u32>()).prop_map(
        |((body_checksum, parent, client), numbers, [persisted, batch], operation, body_bytes, epoch)| {
            let (group, op, view, request, timestamp, commit) = numbers;
            PrepareHeader {
                checksum: 0,
                body_checksum,
                parent,
                client,
                group,
                op: Op(op),
                view: View(view),
                request,
                timestamp,
                commit: Op(commit),
                level: if persisted { Level::Persisted } else { Level::Replicated },
                operation,
                body_bytes,
                epoch,
                body_check: if batch { BodyCheck::Batch } else { BodyCheck::Whole },
            }
            .sealed()
        },
    )
}

fn any_entry() -> impl Strategy<Value = SuffixEntry> {
    (proptest::option::of(any_header()), 0..5_u8).prop_map(|(header, code)| SuffixEntry {
        header,
        standing: Standing::from_code(code).expect("a standing"),
    })
}

fn any_message() -> impl Strategy<Value = Message> {
    let numbers = any::<(u64, u64, u64, u64)>();
    let headers = proptest::collection::vec(any_header(), 1..5);
    let entries = proptest::collection::vec(any_entry(), 1..5);
    (0..11_u8, numbers, any::<u128>(), 0..3_u8, headers, entries).prop_map(
        |(kind, (first, second, third, fourth), checksum, tail, headers, suffix)| {
            let (view, op, commit_max) = (View(first), Op(second), Op(third));
            let header = headers[0];
            match kind {
                0 => Message::Prepare(Prepare { view, commit_max, header }),
                1 => Message::PrepareOk(PrepareOk { view, op, checksum }),
                2 => Message::Commit(Commit { view, commit_max, head: op }),
                3 => Message::StartViewChange(StartViewChange { view, voted: View(fourth) }),
                4 => Message::DoViewChange(DoViewChange {
                    view,
                    log_view: View(fourth),
                    commit_min: op,
                    commit_max,
                    tail: Tail::from_code(tail).expect("a tail"),
                    suffix,
                }),
                5 => Message::StartView(StartView { view, commit_max, nonce: fourth, headers }),
                6 => Message::RequestStartView(RequestStartView { view, nonce: fourth }),
                7 => Message::Probe(Probe { nonce: fourth }),
                8 => Message::ProbeReply(ProbeReply { view, nonce: fourth }),
                9 => Message::RequestPrepares(RequestPrepares { view, first: op, last: commit_max }),
                _ => Message::TransferOffer(TransferOffer { view, commit_max, anchor: header }),
            }
        },
    )
}

fn any_beat() -> impl Strategy<Value = Beat> {
    let entry = (1..=u64::MAX, any::<(u64, u64, u64)>()).prop_map(|(group, (view, commit_max, head))| {
        BeatEntry { group, view: View(view), commit_max: Op(commit_max), head: Op(head) }
    });
    let entries = proptest::collection::vec(entry, 0..=BEAT_ENTRIES_MAX);
    ((1..=1024_u16).prop_flat_map(|shards| (0..shards, Just(shards))), 1..=u64::MAX, entries)
        .prop_map(|((shard, shards), incarnation, entries)| Beat { shard, shards, incarnation, entries })
}

/// Anything that a frame carries; the bytes of a state are sevens.
pub(crate) fn any_content() -> impl Strategy<Value = Content> {
    let numbers = (any::<u64>(), any::<u128>(), 0..1_u64 << 40);
    prop_oneof![
        11 => any_message().prop_map(Content::Message),
        2 => any_beat().prop_map(Content::Beat),
        1 => Just(Content::NotOpen),
        1 => Just(Content::Opened),
        1 => numbers.clone().prop_map(|(nonce, anchor, position)| {
            Content::FetchState(FetchState { nonce, anchor, position, generation: position % 5, offset: nonce / 2 })
        }),
        1 => (numbers, 1..300_u32, 0..300_u64).prop_map(|((nonce, _, position), bytes, rest)| {
            let total = position + u64::from(bytes) + rest;
            let checksum = xxh3_128(&vec![7; bytes as usize]);
            Content::StateChunk(StateChunk { nonce, position, total, checksum, bytes })
        }),
    ]
}
