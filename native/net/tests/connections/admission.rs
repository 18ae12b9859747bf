//! Admission to the table, and the connections closed for it.

use std::time::Duration;

use ng_io::Environment;
use ng_net::Limits;
use ng_net::tcp::WindDown;
use ng_wire::table::close_reason::CloseReason;

use crate::table::{ECHO, LIMITS, LOG_IN, LOG_OUT, Rig, WAIT, frame, on_every_backend};

on_every_backend!(
    the_oldest_stranger_makes_room_for_a_new_one,
    who_logged_in_is_no_stranger,
    a_full_table_turns_newcomers_away,
    a_stop_waits_for_answers_that_are_owed,
    a_stop_that_is_overdue_counts_the_answers_it_cuts_off,
    who_logs_out_becomes_a_stranger_among_others,
);

fn the_oldest_stranger_makes_room_for_a_new_one<E: Environment>(environment: &E) {
    let mut rig = Rig::new(environment, Limits { strangers_max: 3, ..LIMITS });
    let mut clients: Vec<_> = (0..5).map(|_| rig.client()).collect();
    assert_eq!(rig.service.closed, [(1, CloseReason::Displaced), (2, CloseReason::Displaced)]);
    assert_eq!(rig.connections.unauthenticated(), 3);
    assert_eq!(rig.read_to_end(&mut clients[0]), b"");
    let last = clients.last_mut().expect("five clients");
    rig.write(last, &frame(ECHO, 1, &[]));
    assert_eq!(rig.reply(last), 1);
}

fn who_logged_in_is_no_stranger<E: Environment>(environment: &E) {
    let mut rig = Rig::new(environment, Limits { strangers_max: 1, ..LIMITS });
    let mut first = rig.client();
    rig.write(&mut first, &frame(LOG_IN, 1, &[]));
    assert_eq!(rig.reply(&mut first), 1);
    assert_eq!(rig.connections.unauthenticated(), 0);
    let _second = rig.client();
    let _third = rig.client();
    assert_eq!(rig.service.closed, [(2, CloseReason::Displaced)]);
    rig.write(&mut first, &frame(ECHO, 2, &[]));
    assert_eq!(rig.reply(&mut first), 2);
}

fn a_full_table_turns_newcomers_away<E: Environment>(environment: &E) {
    let mut rig = Rig::new(environment, Limits { connections_max: 2, ..LIMITS });
    let _clients = [rig.client(), rig.client()];
    let mut third = rig.client();
    assert_eq!(rig.read_to_end(&mut third), b"");
    assert_eq!(rig.service.closed, [(3, CloseReason::TableFull)]);
    assert_eq!(rig.connections.count(), 2);
}

fn a_stop_waits_for_answers_that_are_owed<E: Environment>(environment: &E) {
    let mut rig = Rig::new(environment, LIMITS);
    let mut quiet = rig.client();
    let mut waiting = rig.client();
    rig.write(&mut waiting, &[frame(WAIT, 1, &[]), frame(ECHO, 2, &[])].concat());
    rig.until(|rig| !rig.service.waiting.is_empty());
    assert_eq!(rig.wind_down(false), WindDown { left: 2, cut: 0 });
    assert_eq!(rig.read_to_end(&mut quiet), b"");
    assert!(rig.answer());
    assert_eq!(rig.reply(&mut waiting), 1);
    while rig.wind_down(false).left > 0 {
        rig.step(Duration::from_millis(5));
    }
    assert_eq!(rig.read_to_end(&mut waiting), b"");
    assert_eq!(rig.service.served.len(), 1, "a request that has not begun is not served");
}

fn a_stop_that_is_overdue_counts_the_answers_it_cuts_off<E: Environment>(environment: &E) {
    let mut rig = Rig::new(environment, LIMITS);
    let _quiet = rig.client();
    let mut waiting = rig.client();
    rig.write(&mut waiting, &frame(WAIT, 1, &[]));
    rig.until(|rig| !rig.service.waiting.is_empty());
    assert_eq!(rig.wind_down(true), WindDown { left: 0, cut: 1 });
}

fn who_logs_out_becomes_a_stranger_among_others<E: Environment>(environment: &E) {
    let mut rig = Rig::new(environment, Limits { strangers_max: 1, ..LIMITS });
    let mut first = rig.client();
    rig.write(&mut first, &frame(LOG_IN, 1, &[]));
    assert_eq!(rig.reply(&mut first), 1);
    let _second = rig.client();
    rig.write(&mut first, &frame(LOG_OUT, 2, &[]));
    assert_eq!(rig.reply(&mut first), 2);
    assert_eq!(rig.service.closed, [(2, CloseReason::Displaced)]);
}
