//! Who may do what.

use ng_catalog::{ROOT, Target};
use ng_wire::table::command::Command;
use ng_wire::table::permission::Requirement;

use crate::written::{catalog, stream};

const TARGETS: [Target; 3] = [Target::Node, Target::Stream(1), Target::Topic { stream: 1, topic: 0 }];

#[test]
fn root_may_everything_and_others_what_asks_for_no_flag() {
    let catalog = catalog(&[stream(1, "a")]);
    for command in Command::ALL {
        let requirement = command.row().requirement;
        let open =
            matches!(requirement, Requirement::Nothing | Requirement::Credentials | Requirement::Session);
        for target in TARGETS {
            assert!(catalog.permits(ROOT, requirement, target), "{}", command.name());
            for user in [1, u32::MAX] {
                assert_eq!(catalog.permits(user, requirement, target), open, "{}", command.name());
            }
        }
    }
}

#[test]
fn that_something_is_missing_anyone_may_hear() {
    assert!(catalog(&[]).permits(1, Requirement::ManageTopic, Target::Missing));
}
