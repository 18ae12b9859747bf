//! Faults that strike at a chosen step of the protocol or of the disk instead of at a random time, and how often each did.

mod aim;
mod step;
mod tally;
mod world;

pub use aim::{Aim, Strike};
pub(crate) use aim::{draw, named};
pub use step::Step;
pub use tally::{Ending, Tally};
pub(crate) use world::Aiming;
