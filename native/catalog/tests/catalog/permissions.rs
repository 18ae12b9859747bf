//! Who may do what.

use ng_catalog::{ROOT, permits};
use ng_wire::table::command::Command;
use ng_wire::table::permission::{Grants, Requirement};

const NO_FLAGS: Grants = Grants { global: &[], stream: &[], topic: &[] };

#[test]
fn root_may_do_everything_and_other_users_what_needs_no_flag() {
    for requirement in Requirement::ALL.iter().copied() {
        assert!(permits(Some(ROOT), requirement), "{}", requirement.name());
        for user in [1, u32::MAX] {
            assert_eq!(
                permits(Some(user), requirement),
                requirement.grants() == NO_FLAGS,
                "{}",
                requirement.name()
            );
        }
    }
}

#[test]
fn without_a_session_a_client_may_ping_and_log_in() {
    let open: Vec<Command> =
        Command::ALL.iter().copied().filter(|command| permits(None, command.row().requirement)).collect();
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
