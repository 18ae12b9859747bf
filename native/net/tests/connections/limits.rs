//! Limits of the time and memory of one connection.

use std::net::TcpStream;
use std::time::Duration;

use ng_io::Environment;
use ng_net::limits::UNAUTHENTICATED_FRAME_BYTES_MAX;
use ng_net::tcp::WindDown;
use ng_wire::frame::HEADER_BYTES;
use ng_wire::table::close_reason::CloseReason;

use crate::table::{
    ECHO, HUGE, HUGE_BYTES, LARGE, LARGE_BYTES, LAST, LIMITS, LOG_IN, Rig, frame, on_every_backend,
};

on_every_backend!(
    silence_is_not_timed,
    a_started_frame_is_cut_when_its_time_is_up,
    a_longer_frame_has_a_second_more_for_every_kib,
    one_byte_now_and_then_does_not_buy_time,
    a_frame_too_long_is_answered_from_its_header_and_the_connection_closed,
    a_frame_answered_from_its_header_keeps_the_time_of_its_length,
    the_last_answer_arrives_before_the_close,
    a_peer_that_waited_for_an_acknowledgement_gets_later_ones_at_once,
    a_reader_that_stalls_is_not_served_further_and_cut_in_the_end,
    a_large_reply_waits_no_longer_for_a_peer_that_takes_nothing,
    a_shortage_closes_peers_that_take_nothing_and_no_others,
    a_peer_that_takes_its_reply_slowly_is_not_cut,
    a_stop_waits_for_no_peer_that_takes_nothing,
    a_stop_waits_for_a_peer_that_takes_its_reply,
    long_frames_share_memory_and_one_alone_is_always_received,
);

fn silence_is_not_timed<E: Environment>(environment: &E) {
    let mut rig = Rig::new(environment, LIMITS);
    let mut client = rig.client();
    rig.ahead = Duration::from_hours(100);
    rig.step(Duration::ZERO);
    assert_eq!(rig.connections.next_deadline(), None);
    rig.write(&mut client, &frame(ECHO, 1, &[]));
    assert_eq!(rig.reply(&mut client), 1);
}

fn a_started_frame_is_cut_when_its_time_is_up<E: Environment>(environment: &E) {
    let mut rig = Rig::new(environment, LIMITS);
    let mut client = rig.client();
    rig.write(&mut client, &[0; 1]);
    rig.until(|rig| rig.connections.next_deadline().is_some());
    rig.ahead = Duration::from_secs(10);
    rig.step(Duration::ZERO);
    assert_eq!(rig.service.closed, [], "a header has 10 s and 1 s for its one KiB");
    rig.ahead = Duration::from_secs(12);
    assert_eq!(rig.read_to_end(&mut client), b"");
    assert_eq!(rig.service.closed, [(1, CloseReason::FrameTimeout)]);
}

fn a_longer_frame_has_a_second_more_for_every_kib<E: Environment>(environment: &E) {
    let mut rig = Rig::new(environment, LIMITS);
    let mut client = rig.client();
    let bytes = frame(ECHO, 1, &[0; 4 * 1024]);
    rig.write(&mut client, &bytes[..HEADER_BYTES]);
    rig.until(|rig| rig.connections.next_deadline().is_some());
    rig.ahead = Duration::from_secs(14);
    rig.step(Duration::ZERO);
    assert_eq!(rig.service.closed, []);
    rig.write(&mut client, &bytes[HEADER_BYTES..]);
    assert_eq!(rig.reply(&mut client), 1);
    rig.ahead = Duration::from_hours(1);
    rig.step(Duration::ZERO);
    assert_eq!(rig.service.closed, [], "the frame is complete, so no deadline is left");
}

fn one_byte_now_and_then_does_not_buy_time<E: Environment>(environment: &E) {
    let mut rig = Rig::new(environment, LIMITS);
    let mut client = rig.client();
    let bytes = frame(ECHO, 1, &[]);
    for (second, byte) in bytes.iter().take(20).enumerate() {
        rig.ahead = Duration::from_secs(second as u64);
        if std::io::Write::write(&mut client, &[*byte]).is_err() {
            break;
        }
        rig.step(Duration::from_millis(5));
    }
    assert_eq!(rig.service.closed, [(1, CloseReason::FrameTimeout)]);
}

fn a_frame_too_long_is_answered_from_its_header_and_the_connection_closed<E: Environment>(environment: &E) {
    let mut rig = Rig::new(environment, LIMITS);
    let mut client = rig.client();
    let bytes = frame(ECHO, 9, &vec![0; UNAUTHENTICATED_FRAME_BYTES_MAX as usize]);
    rig.write(&mut client, &bytes[..HEADER_BYTES]);
    assert_eq!(rig.reply(&mut client), 9, "before any byte of the body was sent");
    rig.write(&mut client, &bytes[HEADER_BYTES..]);
    assert_eq!(rig.read_to_end(&mut client), b"");
    rig.ahead = Duration::from_secs(2);
    rig.until(|rig| !rig.service.closed.is_empty());
    assert_eq!(rig.service.served.len(), 1);
    assert_eq!(rig.service.served[0].1, None);
    assert_eq!(rig.service.closed, [(1, CloseReason::OversizeBeforeLogin)]);
}

fn a_frame_answered_from_its_header_keeps_the_time_of_its_length<E: Environment>(environment: &E) {
    let mut rig = Rig::new(environment, LIMITS);
    rig.service.goes_on_after_oversize = true;
    let mut client = rig.client();
    let bytes = frame(ECHO, 9, &vec![0; 60 * 1024]);
    rig.write(&mut client, &bytes[..HEADER_BYTES]);
    assert_eq!(rig.reply(&mut client), 9);
    // 1 KiB per second. Little is missing at the end, but the deadline is still that of the whole frame.
    for (second, chunk) in bytes[HEADER_BYTES..].chunks(1024).enumerate() {
        rig.ahead = Duration::from_secs(second as u64);
        rig.write(&mut client, chunk);
        rig.step(Duration::from_millis(2));
        assert_eq!(rig.service.closed, [], "cut after {second} s");
    }
    rig.write(&mut client, &frame(ECHO, 10, &[]));
    assert_eq!(rig.reply(&mut client), 10);
}

fn the_last_answer_arrives_before_the_close<E: Environment>(environment: &E) {
    let mut rig = Rig::new(environment, LIMITS);
    let mut client = rig.client();
    // Bytes after the last request are read and dropped; left unread, they would turn the close into a reset.
    let bytes = [frame(LAST, 3, &[]), frame(ECHO, 4, &[1; 3000])].concat();
    rig.write(&mut client, &bytes);
    assert_eq!(rig.reply(&mut client), 3);
    assert_eq!(rig.read_to_end(&mut client), b"", "the sending side ends at once");
    assert_eq!(rig.service.served.len(), 1, "nothing is served after the last answer");
    drop(client);
    rig.until(|rig| !rig.service.closed.is_empty());
    assert_eq!(rig.service.closed, [(1, CloseReason::OversizeBeforeLogin)]);
}

fn a_peer_that_waited_for_an_acknowledgement_gets_later_ones_at_once<E: Environment>(environment: &E) {
    let mut rig = Rig::new(environment, LIMITS);
    let mut client = rig.client();
    let bytes = frame(ECHO, 1, &[0; 4 * 1024]);
    for (early, wait) in [(0, Duration::from_millis(40)), (1, Duration::ZERO), (2, Duration::ZERO)] {
        rig.write(&mut client, &bytes[..HEADER_BYTES]);
        rig.until(|rig| rig.connections.next_deadline().is_some());
        assert_eq!(rig.connections.traffic().early_acknowledgements, early);
        rig.ahead += wait;
        rig.write(&mut client, &bytes[HEADER_BYTES..]);
        assert_eq!(rig.reply(&mut client), 1);
        assert_eq!(rig.connections.traffic().early_acknowledgements, early, "one for each frame in parts");
        rig.ahead += Duration::from_secs(20);
        rig.until(|rig| rig.connections.next_deadline().is_none());
    }
    rig.write(&mut client, &bytes);
    assert_eq!(rig.reply(&mut client), 1);
}

fn a_reader_that_stalls_is_not_served_further_and_cut_in_the_end<E: Environment>(environment: &E) {
    let mut rig = Rig::new(environment, LIMITS);
    let mut client = rig.client();
    // Many more answers than all socket buffers on the way hold.
    let requests: Vec<u8> = (0..2_000).flat_map(|request| frame(LARGE, request, &[])).collect();
    let mut sent = 0;
    for _ in 0..200 {
        while let Ok(count) = std::io::Write::write(&mut client, &requests[sent..]) {
            sent += count;
            if sent == requests.len() {
                break;
            }
        }
        rig.step(Duration::from_millis(1));
    }
    let served = rig.service.served.len();
    assert!(served * LARGE_BYTES < 64 * 1024 * 1024, "served {served} requests into the void");
    assert!(rig.connections.unsent().all > 0);
    pass(&mut rig, 29);
    assert_eq!(rig.service.closed, []);
    pass(&mut rig, 10);
    assert_eq!(rig.service.closed, [(1, CloseReason::SendTimeout)]);
    rig.until(|rig| rig.connections.unsent().all == 0);
}

/// Lets `seconds` seconds pass, one by one.
fn pass<E: Environment>(rig: &mut Rig<E>, seconds: u64) {
    for _ in 0..seconds {
        rig.ahead += Duration::from_secs(1);
        rig.step(Duration::ZERO);
    }
}

/// A client with a session and more replies than all socket buffers hold.
fn asks_for_much<E: Environment>(rig: &mut Rig<E>) -> TcpStream {
    let mut client = rig.client();
    rig.write(&mut client, &[frame(LOG_IN, 1, &[]), frame(HUGE, 2, &[])].concat());
    assert_eq!(rig.reply(&mut client), 1);
    rig.until(|rig| rig.connections.unsent().all > HUGE_BYTES / 2);
    client
}

fn a_large_reply_waits_no_longer_for_a_peer_that_takes_nothing<E: Environment>(environment: &E) {
    let mut rig = Rig::new(environment, LIMITS);
    let _client = asks_for_much(&mut rig);
    pass(&mut rig, 29);
    assert_eq!(rig.service.closed, []);
    pass(&mut rig, 10);
    assert_eq!(rig.service.closed, [(1, CloseReason::SendTimeout)]);
    rig.until(|rig| rig.connections.unsent().all == 0);
}

fn a_shortage_closes_peers_that_take_nothing_and_no_others<E: Environment>(environment: &E) {
    let mut rig = Rig::new(environment, LIMITS);
    let _stalled = asks_for_much(&mut rig);
    let mut reader = asks_for_much(&mut rig);
    for _ in 0..6 {
        rig.hurry_replies();
        rig.read(&mut reader, 512 * 1024);
        pass(&mut rig, 1);
    }
    assert_eq!(rig.service.closed, [(1, CloseReason::SendTimeout)]);
    assert!(rig.connections.unsent().all > 0, "the other one still reads");
}

fn a_peer_that_takes_its_reply_slowly_is_not_cut<E: Environment>(environment: &E) {
    let mut rig = Rig::new(environment, LIMITS);
    let mut client = asks_for_much(&mut rig);
    for _ in 0..30 {
        rig.read(&mut client, 512 * 1024);
        pass(&mut rig, 8);
    }
    assert_eq!(rig.service.closed, [], "it took something in each half of a minute");
    assert!(rig.connections.unsent().all > 0);
}

fn a_stop_waits_for_no_peer_that_takes_nothing<E: Environment>(environment: &E) {
    let mut rig = Rig::new(environment, LIMITS);
    let _client = asks_for_much(&mut rig);
    assert_eq!(rig.wind_down(false), WindDown { left: 1, cut: 0 });
    pass(&mut rig, 2);
    assert_eq!(rig.wind_down(true), WindDown { left: 0, cut: 0 }, "no answer is left to be dropped");
    assert_eq!(rig.service.closed, [(1, CloseReason::SendTimeout)]);
}

fn a_stop_waits_for_a_peer_that_takes_its_reply<E: Environment>(environment: &E) {
    let mut rig = Rig::new(environment, LIMITS);
    let mut client = asks_for_much(&mut rig);
    assert_eq!(rig.wind_down(false), WindDown { left: 1, cut: 0 });
    for _ in 0..8 {
        rig.read(&mut client, 1024 * 1024);
        rig.ahead += Duration::from_millis(500);
        assert_eq!(rig.wind_down(false), WindDown { left: 1, cut: 0 });
    }
    assert_eq!(rig.service.closed, []);
    assert_eq!(rig.wind_down(true), WindDown { left: 0, cut: 1 });
}

fn long_frames_share_memory_and_one_alone_is_always_received<E: Environment>(environment: &E) {
    let mut rig = Rig::new(environment, LIMITS);
    rig.service.frame_bytes_max = Some(LIMITS.frame_bytes_max);
    let (mut first, mut second) = (rig.client(), rig.client());
    let long = |request| frame(ECHO, request, &vec![5; 3 * LIMITS.frame_memory_max]);
    let (begun, rest) = (2 * LIMITS.frame_memory_max, long(1));
    rig.write(&mut first, &rest[..begun]);
    rig.until(|rig| rig.connections.frame_bytes() > LIMITS.frame_memory_max);
    // The second frame finds no room, and the first continues.
    rig.write(&mut second, &long(2));
    rig.until(|rig| rig.service.turned_away == [2]);
    assert_eq!(rig.reply(&mut second), 2);
    rig.write(&mut second, &frame(ECHO, 3, &[6; 1_000]));
    assert_eq!(rig.reply(&mut second), 3, "a short one needs no room");
    rig.write(&mut first, &rest[begun..]);
    assert_eq!(rig.reply(&mut first), 1);
    assert_eq!(rig.connections.frame_bytes(), 0);
    rig.write(&mut second, &long(4));
    assert_eq!(rig.reply(&mut second), 4);
    rig.write(&mut first, &long(5)[..begun]);
    rig.until(|rig| rig.connections.frame_bytes() > 0);
    drop(first);
    rig.until(|rig| rig.connections.frame_bytes() == 0);
    assert_eq!(rig.service.turned_away, [2]);
}
