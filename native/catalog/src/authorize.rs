//! Who may do what.

use ng_wire::table::permission::Requirement;

/// The user who may do everything.
pub const ROOT: u32 = 0;

/// Whether a client meets a requirement; `user` is the user of its session, if it has one. Until users have permissions,
/// no one but [`ROOT`] holds a flag.
#[must_use]
pub const fn permits(user: Option<u32>, requirement: Requirement) -> bool {
    match (requirement, user) {
        (Requirement::Nothing | Requirement::Credentials, _) => true,
        (_, None) => false,
        (Requirement::Session, Some(_)) => true,
        (_, Some(user)) => user == ROOT,
    }
}
