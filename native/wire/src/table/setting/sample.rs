//! A full text of settings for tests and benches: every value as it is when nobody sets it.

use super::kind::SettingKind;
use super::rows::{ENGINE_VALUES, EngineValueRow, SETTINGS};

/// Every line that the engine reads, with these values instead of the defaults.
///
/// # Panics
/// If a change names no value.
#[must_use]
pub fn sample_lines(changes: &[(&str, &str)]) -> String {
    for (name, _) in changes {
        assert!(ENGINE_VALUES.iter().any(|row| row.name == *name), "{name} is no value of the engine");
    }
    let line = |row: &EngineValueRow| {
        let changed = changes.iter().find(|(name, _)| *name == row.name);
        let value = changed.map_or_else(|| default(row), |(_, value)| (*value).to_owned());
        format!("{}={value}", row.name)
    };
    ENGINE_VALUES.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn default(row: &EngineValueRow) -> String {
    let Some(key) = row.key else { return row.sample.expect("a given value has a sample").to_owned() };
    let setting = SETTINGS.iter().find(|setting| setting.key == key).expect("declared in the same row");
    match setting.kind {
        SettingKind::Boolean(value) => value.to_string(),
        SettingKind::Count(value, _) | SettingKind::Size(value) | SettingKind::Duration(value) => {
            value.default.to_string()
        }
        SettingKind::Address(text)
        | SettingKind::Path(text)
        | SettingKind::Text(text)
        | SettingKind::Choice { default: text, .. } => text.to_owned(),
        // As long as offsets are stored; the control plane computes the value of a duration.
        SettingKind::ConsumerIdle(_) => "all".to_owned(),
        SettingKind::Cpus(_) => unreachable!("processors are chosen by the control plane"),
    }
}
