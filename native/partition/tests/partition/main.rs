//! The value of a partition against a model of what its clients were told, and against its own replays.

mod bodies;
mod by_hand;
mod model;
mod properties;
mod rig;
mod swaps;
