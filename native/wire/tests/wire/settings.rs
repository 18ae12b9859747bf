//! Settings: rows that agree with each other, and lines that the engine reads whole or not at all.

use std::collections::HashSet;
use std::time::Duration;

use ng_wire::table::setting::{
    Backend, ConsumerHold, ENGINE_VALUES, EngineSettings, SECTIONS, SETTINGS, SHARDS_MAX, SettingKind,
    SettingsError, sample_lines,
};

fn parse(changes: &[(&str, &str)]) -> Result<EngineSettings, SettingsError> {
    EngineSettings::parse(sample_lines(changes).as_bytes())
}

#[test]
fn every_row_is_complete() {
    let keys: HashSet<_> = SETTINGS.iter().map(|row| row.key).collect();
    assert_eq!(keys.len(), SETTINGS.len());
    let sections: HashSet<_> = SECTIONS.iter().map(|(name, _)| *name).collect();
    for row in SETTINGS {
        let (section, _) = row.key.rsplit_once('.').expect("a section and a name");
        assert!(sections.contains(section), "{} has no section", row.key);
        assert!(row.sentence.ends_with('.') && !row.sentence.contains("  "), "{}", row.key);
        match row.kind {
            SettingKind::Count(value, _) | SettingKind::Size(value) | SettingKind::Duration(value) => {
                assert!((value.least..=value.most).contains(&value.default), "{}", row.key);
            }
            SettingKind::Choice { default, words, synonyms } => {
                assert!(words.contains(&default), "{}", row.key);
                assert!(synonyms.iter().all(|(_, word)| words.contains(word)), "{}", row.key);
            }
            SettingKind::Boolean(_)
            | SettingKind::Address(_)
            | SettingKind::Path(_)
            | SettingKind::Text(_)
            | SettingKind::ConsumerIdle(_)
            | SettingKind::Cpus(_) => {}
        }
    }
    for (name, about) in SECTIONS {
        assert!(SETTINGS.iter().any(|row| row.key.starts_with(&format!("{name}."))), "{name} is empty");
        assert!(about.ends_with('.'), "{name}");
    }
    let names: HashSet<_> = ENGINE_VALUES.iter().map(|row| row.name).collect();
    assert_eq!(names.len(), ENGINE_VALUES.len());
}

#[test]
fn complete_settings_are_taken() {
    let settings = parse(&[("shard_cpus", "0,-")]).expect("complete");
    assert_eq!(settings.shard_cpus, [Some(0), None]);
    assert_eq!(settings.frame_time, Duration::from_secs(10));
    assert_eq!(settings.backend, Backend::Auto);
    assert_eq!(settings.watchdog_us, 0);
    let hold = |text| parse(&[("consumer_hold", text)]).map(|settings| settings.consumer_hold);
    assert_eq!(hold("all"), Ok(ConsumerHold::Always));
    assert_eq!(hold("none"), Ok(ConsumerHold::Never));
    assert_eq!(hold("1500"), Ok(ConsumerHold::Seen(Duration::from_millis(1500))));
}

#[test]
fn every_line_is_needed() {
    let lines = sample_lines(&[]);
    assert_eq!(lines.lines().count(), ENGINE_VALUES.len());
    for line in lines.lines() {
        let rest: Vec<&str> = lines.lines().filter(|other| *other != line).collect();
        let parsed = EngineSettings::parse(rest.join("\n").as_bytes());
        assert!(matches!(parsed, Err(SettingsError::Missing(_))), "without {line}");
    }
}

#[test]
fn bad_values_and_strange_keys_are_named() {
    for change in [
        ("backend", "kqueue"),
        ("shard_cpus", ""),
        ("frame_bytes_max", "255"),
        ("logins_max", "0"),
        ("send_timeout", "0"),
        ("direct_io", "yes"),
        ("journal_files_max", "4"),
        ("consumer_offsets_max", "0"),
        ("unflushed_bytes_max", "0"),
        ("poll_cache_bytes_max", "-1"),
        ("poll_reads_bytes_max", "0"),
        ("replies_bytes_max", "0"),
        ("connections_bytes_max", ""),
        ("spares_bytes_max", "some"),
        ("poll_reply_bytes_max", "all"),
        ("retention_period", "often"),
        ("consumer_hold", "some"),
        ("tcp_address", "somewhere"),
    ] {
        let (key, value) = change;
        assert_eq!(parse(&[change]), Err(SettingsError::Value { key, value: value.to_owned() }));
    }
    let text = format!("{}\nwhat=this", sample_lines(&[]));
    assert_eq!(EngineSettings::parse(text.as_bytes()), Err(SettingsError::Unknown("what".into())));
    assert_eq!(EngineSettings::parse(b"\xff"), Err(SettingsError::Layout));
}

#[test]
fn as_many_shards_as_have_numbers() {
    let cpus = |count: usize| vec!["-"; count].join(",");
    assert!(parse(&[("shard_cpus", &cpus(SHARDS_MAX))]).is_ok());
    assert!(parse(&[("shard_cpus", &cpus(SHARDS_MAX + 1))]).is_err());
}
