//! Who may do what.

use ng_wire::table::permission::{Grants, Requirement};

use crate::catalog::Catalog;

/// The user who may do everything.
pub const ROOT: u32 = 0;

/// What a command is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// No stream in particular.
    Node,
    /// A stream.
    Stream(u32),
    /// A topic.
    Topic {
        /// Its stream.
        stream: u32,
        /// Its number in the stream.
        topic: u32,
    },
    /// Something that is not there: whoever asks is told so, permitted or not.
    Missing,
}

impl Catalog {
    /// Whether a user meets a requirement. Nobody but [`ROOT`] holds a flag.
    #[must_use]
    pub fn permits(&self, user: u32, requirement: Requirement, target: Target) -> bool {
        const UNCONDITIONAL: Grants = Grants { global: &[], stream: &[], topic: &[] };
        user == ROOT || target == Target::Missing || requirement.grants() == UNCONDITIONAL
    }
}
