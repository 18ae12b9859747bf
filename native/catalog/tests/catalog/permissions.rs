//! Who may do what.

use ng_catalog::{Barred, Catalog, ROOT, Rights, Row, Target};
use ng_wire::permissions::{Permissions, StreamPermissions, TopicPermissions};
use ng_wire::table::command::Command;
use ng_wire::table::permission::{GlobalFlag, Requirement, StreamFlag, TopicFlag};
use ng_wire::table::row::UserStatus;

use crate::written::{catalog, delete, puts, user};

const TARGETS: [Target; 4] = [Target::Node, Target::User(7), Target::Stream(3), Target::Topic(3, 4)];

#[test]
fn root_may_do_everything_and_an_unknown_user_nothing_that_needs_a_session() {
    let catalog = Catalog::default();
    for requirement in Requirement::ALL.iter().copied() {
        for target in TARGETS {
            assert!(catalog.permits(Some(ROOT), requirement, target), "{}", requirement.name());
            for user in [None, Some(1), Some(7), Some(u32::MAX)] {
                let permitted = catalog.permits(user, requirement, target);
                assert_eq!(permitted, !requirement.needs_session(), "{}", requirement.name());
            }
        }
    }
}

#[test]
fn a_command_on_a_target_is_forbidden_to_all_who_have_no_right_to_it() {
    let catalog = Catalog::default();
    let poll = |user| catalog.authorize(user, Command::PollMessages, Target::Topic(3, 4));
    assert_eq!(poll(Some(ROOT)), Ok(()));
    assert_eq!((poll(Some(7)), poll(None)), (Err(Barred::Forbidden), Err(Barred::Forbidden)));
    assert_eq!(catalog.authorize(None, Command::Ping, Target::Node), Ok(()));
}

#[test]
fn without_a_session_a_client_may_ping_and_log_in() {
    let open = |command: &Command| !command.row().requirement.needs_session();
    let open: Vec<Command> = Command::ALL.iter().copied().filter(open).collect();
    assert_eq!(
        open,
        [
            Command::Ping,
            Command::LoginUser,
            Command::LoginRegister,
            Command::LoginWithPersonalAccessToken,
            Command::LoginRegisterWithToken
        ]
    );
}

#[test]
fn entries_are_found_whatever_their_order() {
    let topics = |numbers: [u32; 3]| {
        numbers.map(|topic| TopicPermissions { topic, flags: 1 << TopicFlag::PollMessages.code() }).to_vec()
    };
    let stream = |stream, topics| StreamPermissions { stream, flags: 0, topics };
    let streams = vec![stream(9, topics([5, 1, 3])), stream(2, vec![]), stream(5, topics([8, 7, 9]))];
    let rights = Rights::compile(&Permissions { global: 0, streams });
    let polls: Vec<_> = (0..10)
        .flat_map(|stream| (0..10).map(move |topic| (stream, topic)))
        .filter(|(stream, topic)| rights.meet(1, Requirement::PollMessages, Target::Topic(*stream, *topic)))
        .collect();
    assert_eq!(polls, [(5, 7), (5, 8), (5, 9), (9, 1), (9, 3), (9, 5)]);
}

#[test]
fn a_flag_holds_where_it_was_granted() {
    let flags = 1 << StreamFlag::ReadStream.code();
    let stream = StreamPermissions { stream: 3, flags, topics: Vec::new() };
    let rights = Rights::compile(&Permissions { global: 0, streams: vec![stream] });
    for (target, expected) in TARGETS.into_iter().zip([false, false, true, true]) {
        assert_eq!(rights.meet(1, Requirement::ReadTopics, target), expected, "{target:?}");
    }
    let everywhere = Permissions { global: 1 << GlobalFlag::ReadStreams.code(), streams: Vec::new() };
    let rights = Rights::compile(&everywhere);
    assert!(TARGETS.into_iter().all(|target| rights.meet(1, Requirement::ReadTopics, target)));
}

#[test]
fn users_may_look_at_themselves() {
    let rights = Rights::compile(&Permissions::default());
    for requirement in Requirement::ALL.iter().copied() {
        let of = |user| rights.meet(7, requirement, Target::User(user));
        let anyone =
            matches!(requirement, Requirement::Nothing | Requirement::Credentials | Requirement::Session);
        let oneself = matches!(requirement, Requirement::ReadUsersOrSelf | Requirement::ManageUsersOrSelf);
        assert_eq!((of(7), of(8)), (anyone || oneself, anyone), "{}", requirement.name());
    }
}

#[test]
fn a_row_of_a_user_grants_and_its_end_revokes() {
    let Row::User(_, mut row) = user(1, "bob") else { unreachable!("a row of a user") };
    row.status = UserStatus::Active;
    let may = |catalog: &Catalog, requirement| catalog.permits(Some(1), requirement, Target::Node);
    let mut catalog = Catalog::default();
    assert!(!may(&catalog, Requirement::Session), "an unknown user");
    catalog.fold(&puts(&[Row::User(1, row.clone())])).expect("a good row");
    assert!(may(&catalog, Requirement::Session) && !may(&catalog, Requirement::ManageUsers));
    let mut block = Vec::new();
    Permissions::all().put(&mut block);
    row.permissions = block.into();
    catalog.fold(&puts(&[Row::User(1, row)])).expect("a good row");
    assert!(may(&catalog, Requirement::ManageUsers));
    catalog.fold(&delete(&[2, 0, 0, 0, 1])).expect("a delete");
    assert!(!may(&catalog, Requirement::Session));
    assert!(catalog.permits(Some(ROOT), Requirement::ManageUsers, Target::Node));
}

#[test]
fn an_inactive_user_has_no_rights_and_root_always_has_all() {
    let permits = |id, status| {
        let Row::User(_, mut row) = user(id, "ann") else { unreachable!("a row of a user") };
        row.status = status;
        row.permissions = [[1; 10].as_slice(), &[0]].concat().into();
        catalog(&[Row::User(id, row)]).permits(Some(id), Requirement::ManageStreams, Target::Node)
    };
    assert!(permits(7, UserStatus::Active));
    assert!(!permits(7, UserStatus::Inactive));
    assert!(permits(ROOT, UserStatus::Inactive));
}
