//! Who may do what.

use std::collections::BTreeMap;

use ng_wire::permissions::Permissions;
use ng_wire::table::command::Command;
use ng_wire::table::permission::Requirement;

use crate::catalog::Catalog;
use crate::resolve::Missing;
use crate::rights::Rights;

/// The user who may do everything.
pub const ROOT: u32 = 0;

/// The thing that a command is about, once it was found: a command on a missing thing is answered as such,
/// whoever asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The node, all streams or all users.
    Node,
    /// A user.
    User(u32),
    /// A stream.
    Stream(u32),
    /// A topic, or something in it: its stream and its number there.
    Topic(u32, u32),
}

/// Why a command on a target is not performed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Barred {
    /// The target is not there.
    Missing(Missing),
    /// The user does not meet the requirement of the command.
    Forbidden,
}

impl From<Missing> for Barred {
    fn from(missing: Missing) -> Self {
        Self::Missing(missing)
    }
}

/// The rights of every user.
#[derive(Clone, Debug)]
pub(crate) struct UserRights(BTreeMap<u32, Rights>);

impl Default for UserRights {
    /// Of root, who needs no row.
    fn default() -> Self {
        Self(BTreeMap::from([(ROOT, Rights::compile(&Permissions::all()))]))
    }
}

impl UserRights {
    /// A user has these permissions from now on.
    pub(crate) fn grant(&mut self, user: u32, permissions: &Permissions) {
        self.0.insert(user, Rights::compile(permissions));
    }

    /// A user was deleted, or is inactive. Root keeps all rights.
    pub(crate) fn revoke(&mut self, user: u32) {
        if user != ROOT {
            self.0.remove(&user);
        }
    }
}

impl Catalog {
    /// Whether a client meets a requirement on a target: the one rule for every command. `user` is the user of
    /// its session, if it has one; a user whom the catalog does not know may do no more than a client without a
    /// session.
    #[must_use]
    pub fn permits(&self, user: Option<u32>, requirement: Requirement, target: Target) -> bool {
        match user.and_then(|user| Some((user, self.user_rights.0.get(&user)?))) {
            Some((user, rights)) => rights.meet(user, requirement, target),
            None => !requirement.needs_session(),
        }
    }

    /// Agrees that a user may perform a command on a target that was found: a missing one is answered as such,
    /// whoever asks.
    pub fn authorize(&self, user: Option<u32>, command: Command, target: Target) -> Result<(), Barred> {
        match self.permits(user, command.row().requirement, target) {
            true => Ok(()),
            false => Err(Barred::Forbidden),
        }
    }
}
