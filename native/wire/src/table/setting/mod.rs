//! Settings of operators, and the values that the engine gets at its start.
//!
//! A setting is one row of [`SETTINGS`]. The model of the configuration, its file of defaults and its documentation are
//! generated from there, and so are both ends of what the engine is told.

mod engine;
mod kind;
mod rows;
mod sample;

pub use engine::{Backend, ConsumerHold, SettingsError};
pub use kind::{Bounded, SettingKind};
pub use rows::{
    ENGINE_VALUES, EngineSettings, EngineValueRow, JOURNAL_FILES_MIN, Reach, SECTIONS, SETTINGS, SHARDS_MAX,
    SettingRow,
};
pub use sample::sample_lines;
