//! From bytes to requests: whole, split, joined and foreign frames.

use std::time::Duration;

use ng_io::Environment;
use ng_wire::frame::HEADER_BYTES;
use ng_wire::table::close_reason::CloseReason;

use crate::table::{ECHO, KEEP, KEPT_START, LARGE, LIMITS, Rig, WAIT, frame, on_every_backend};

on_every_backend!(
    a_frame_may_come_in_any_pieces,
    who_sends_large_frames_is_read_in_two_operations_each,
    what_is_kept_lies_where_it_is_wanted_and_stays_as_it_came,
    what_is_kept_may_come_in_any_pieces_among_other_frames,
    pipelined_requests_are_answered_in_order,
    a_waiting_answer_holds_back_the_next_request,
    what_was_pipelined_behind_a_large_answer_is_served,
    an_answer_for_a_closed_connection_is_dropped,
    foreign_bytes_close_the_connection,
    a_peer_that_only_reads_gets_its_outstanding_replies,
    an_end_inside_a_frame_is_told_from_an_end_between_two,
);

fn a_frame_may_come_in_any_pieces<E: Environment>(environment: &E) {
    let mut rig = Rig::new(environment, LIMITS);
    let mut client = rig.client();
    let body: Vec<u8> = (0..=255).cycle().take(2000).collect();
    for (request, piece) in [1, 7, 255, 256, 257, 1023, 1024, 1025, 5000].into_iter().enumerate() {
        let bytes = frame(ECHO, request as u64, &body);
        for chunk in bytes.chunks(piece) {
            rig.write(&mut client, chunk);
            rig.step(Duration::ZERO);
        }
        assert_eq!(rig.reply(&mut client), request as u64, "in pieces of {piece}");
        assert_eq!(rig.service.served.last().and_then(|(_, body)| body.clone()), Some(body.clone()));
    }
}

fn who_sends_large_frames_is_read_in_two_operations_each<E: Environment>(environment: &E) {
    let mut rig = Rig::new(environment, LIMITS);
    let mut client = rig.client();
    let body = vec![7; 7_000];
    let mut echo = |rig: &mut Rig<E>, request| {
        rig.write(&mut client, &frame(ECHO, request, &body));
        rig.reply(&mut client);
    };
    echo(&mut rig, 1);
    let before = rig.operations();
    (2..12).for_each(|request| echo(&mut rig, request));
    assert_eq!(rig.operations() - before, 3 * 10, "two receive, one sends");
}

fn what_is_kept_lies_where_it_is_wanted_and_stays_as_it_came<E: Environment>(environment: &E) {
    let mut rig = Rig::new(environment, LIMITS);
    let mut client = rig.client();
    let body = |request: u8| (request..=255).cycle().take(7_000).collect::<Vec<u8>>();
    for request in 0..10 {
        let bytes = frame(KEEP, request.into(), &body(request));
        // The header alone does not contain the start of the kept part.
        rig.write(&mut client, &bytes[..HEADER_BYTES]);
        rig.step(Duration::from_millis(1));
        rig.write(&mut client, &bytes[HEADER_BYTES..]);
        assert_eq!(rig.reply(&mut client), request.into());
    }
    for (request, kept) in (0..).zip(&rig.service.kept) {
        assert_eq!(kept[..], body(request)[KEPT_START..]);
        // The memory of the first frame grew with its bytes, so its position is arbitrary.
        assert!(
            request == 0 || kept.frame(LIMITS.kept_front).is_some(),
            "request {request} is at another position"
        );
    }
}

fn what_is_kept_may_come_in_any_pieces_among_other_frames<E: Environment>(environment: &E) {
    let mut rig = Rig::new(environment, LIMITS);
    let mut client = rig.client();
    let mut bodies = Vec::new();
    for (round, piece) in (0_u8..).zip([1, 7, 300, 1_024, 1_025, 4_000, 20_000, 50_000]) {
        let [long, short] = [6_000, 30].map(|length| (round..=255).cycle().take(length).collect::<Vec<u8>>());
        let request = 3 * u64::from(round);
        let frames =
            [frame(KEEP, request, &long), frame(ECHO, request + 1, &long), frame(KEEP, request + 2, &short)];
        for piece in frames.concat().chunks(piece) {
            rig.write(&mut client, piece);
            rig.step(Duration::ZERO);
        }
        assert_eq!([0; 3].map(|_| rig.reply(&mut client)), [request, request + 1, request + 2]);
        bodies.extend([long, short]);
    }
    assert_eq!(rig.service.kept.len(), bodies.len());
    for (kept, body) in rig.service.kept.iter().zip(bodies) {
        assert_eq!(kept[..], body[KEPT_START..]);
    }
}

fn pipelined_requests_are_answered_in_order<E: Environment>(environment: &E) {
    let mut rig = Rig::new(environment, LIMITS);
    let mut client = rig.client();
    let bytes: Vec<u8> = (0..500).flat_map(|request| frame(ECHO, request, &[1; 17])).collect();
    client.set_nonblocking(false).expect("a socket");
    let mut writer = client.try_clone().expect("a descriptor");
    let writing = std::thread::spawn(move || std::io::Write::write_all(&mut writer, &bytes));
    client.set_nonblocking(true).expect("a socket");
    for request in 0..500 {
        assert_eq!(rig.reply(&mut client), request);
    }
    drop(writing);
}

fn a_waiting_answer_holds_back_the_next_request<E: Environment>(environment: &E) {
    let mut rig = Rig::new(environment, LIMITS);
    let mut client = rig.client();
    let bytes: Vec<u8> = [frame(WAIT, 1, &[]), frame(ECHO, 2, &[])].concat();
    rig.write(&mut client, &bytes);
    rig.until(|rig| !rig.service.waiting.is_empty());
    for _ in 0..5 {
        rig.step(Duration::from_millis(1));
    }
    assert_eq!(rig.service.served.len(), 1, "the second request waits for the first answer");
    assert!(rig.answer());
    assert_eq!([rig.reply(&mut client), rig.reply(&mut client)], [1, 2]);
}

fn what_was_pipelined_behind_a_large_answer_is_served<E: Environment>(environment: &E) {
    let mut rig = Rig::new(environment, LIMITS);
    let mut client = rig.client();
    let bytes: Vec<u8> =
        [frame(LARGE, 1, &[]), frame(ECHO, 2, &[]), frame(LARGE, 3, &[]), frame(ECHO, 4, &[])].concat();
    rig.write(&mut client, &bytes);
    for request in 1..=4 {
        assert_eq!(rig.reply(&mut client), request);
    }
    rig.ahead = Duration::from_hours(1);
    rig.step(Duration::ZERO);
    assert_eq!(rig.service.closed, [], "a buffered request that is served is not timed");
}

fn an_answer_for_a_closed_connection_is_dropped<E: Environment>(environment: &E) {
    let mut rig = Rig::new(environment, LIMITS);
    let mut client = rig.client();
    rig.write(&mut client, &frame(WAIT, 1, &[]));
    rig.until(|rig| !rig.service.waiting.is_empty());
    rig.wind_down(true);
    assert!(!rig.answer());
    assert_eq!(rig.service.closed, [(1, CloseReason::Stopping)]);
}

fn foreign_bytes_close_the_connection<E: Environment>(environment: &E) {
    let mut rig = Rig::new(environment, LIMITS);
    let with = |at: usize, bytes: &[u8]| {
        let mut header = frame(ECHO, 1, &[]);
        header[at..at + bytes.len()].copy_from_slice(bytes);
        header
    };
    let cases = [
        (vec![0x16, 3, 1, 0], CloseReason::LegacyFraming),
        (with(0, &[9, 0, 0, 0]), CloseReason::LegacyFraming),
        (with(48, &255u32.to_le_bytes()), CloseReason::BadSize),
        (with(48, &u32::MAX.to_le_bytes()), CloseReason::BadSize),
        (with(60, &[8]), CloseReason::BadCommand),
    ];
    for (index, (bytes, reason)) in cases.into_iter().enumerate() {
        let mut client = rig.client();
        rig.write(&mut client, &bytes);
        assert_eq!(rig.read_to_end(&mut client), b"");
        assert_eq!(rig.service.closed[index].1, reason, "case {index}");
    }
    let mut next = rig.client();
    rig.write(&mut next, &frame(ECHO, 5, &[]));
    assert_eq!(rig.reply(&mut next), 5, "the next client is served");
}

fn a_peer_that_only_reads_gets_its_outstanding_replies<E: Environment>(environment: &E) {
    let mut rig = Rig::new(environment, LIMITS);
    let mut client = rig.client();
    let requests = 100;
    let bytes: Vec<u8> = (0..requests).flat_map(|request| frame(LARGE, request, &[])).collect();
    rig.write(&mut client, &bytes);
    client.shutdown(std::net::Shutdown::Write).expect("connected");
    for request in 0..requests {
        assert_eq!(rig.reply(&mut client), request);
    }
    assert_eq!(rig.read_to_end(&mut client), b"");
    rig.until(|rig| !rig.service.closed.is_empty());
    assert_eq!(rig.service.closed, [(1, CloseReason::ClientClosed)]);
}

fn an_end_inside_a_frame_is_told_from_an_end_between_two<E: Environment>(environment: &E) {
    let mut rig = Rig::new(environment, LIMITS);
    for (bytes, reason) in [(0, CloseReason::ClientClosed), (HEADER_BYTES - 1, CloseReason::Truncated)] {
        let mut client = rig.client();
        rig.write(&mut client, &frame(ECHO, 1, &[])[..bytes]);
        rig.step(Duration::from_millis(50));
        drop(client);
        let closed = rig.service.closed.len();
        rig.until(|rig| rig.service.closed.len() > closed);
        assert_eq!(rig.service.closed[closed].1, reason);
    }
}
