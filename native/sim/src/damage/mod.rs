//! Worlds of one node whose disk damages a file between two lives of the process. The node may repair the damage, fence a
//! range, or refuse to start with a file and a remedy; the world follows the remedy.

mod disk;
mod fault;
mod file_kind;
mod ledger;
mod process;
mod remedy;
mod world;

pub use fault::Damage;
pub use file_kind::FileKind;
pub use world::{Cell, Ending};

pub(crate) use disk::{Files, files_of, perform, restore};
pub(crate) use fault::{Choice, Done};
pub(crate) use world::DamageWorld;
