//! The model of the configuration in Python.

use ng_wire::table::setting::{Bounded, SECTIONS, SETTINGS, SettingKind, SettingRow};

use crate::python::{Expression, call, put, put_text, text, texts, tuple, word};

const HEAD: &str = r#""""The settings: every key with its default, bounds, unit and sentence; all else is derived from here.

Generated from the tables of `native/wire` by `make generate`: change them there.
"""

from datetime import timedelta
from pathlib import Path
from typing import Annotated

from server_ng.config.address import Address
from server_ng.config.consumer_idle import ConsumerIdle
from server_ng.config.cpu_allocation import CpuAllocation
from server_ng.config.leaf import (
    ADDRESS,
    BOOLEAN,
    CONSUMER_IDLE,
    COUNT,
    CPUS,
    DURATION,
    PATH,
    SIZE,
    TEXT,
    Leaf,
    Section,
    choice,
)

__all__ = ["SettingsTable"]
"#;

/// The whole file.
pub(crate) fn model() -> String {
    let mut model = String::from(HEAD);
    put_section(&mut model, "", "SettingsTable", "Every section.");
    model
}

/// Appends the class of a section, after those of the sections inside it.
fn put_section(into: &mut String, section: &str, class: &str, sentence: &str) {
    let inside = |key: &'static str| match section {
        "" => Some(key),
        _ => key.strip_prefix(section)?.strip_prefix('.'),
    };
    for (name, about) in SECTIONS {
        if inside(name).is_some_and(|rest| !rest.contains('.')) {
            put_section(into, name, &class_name(name), about);
        }
    }
    into.push_str(&format!("\n\nclass {class}(Section):\n    \"\"\"{sentence}\"\"\"\n\n"));
    let mut sections = Vec::new();
    for row in SETTINGS {
        let Some(rest) = inside(row.key) else { continue };
        match rest.split_once('.') {
            None => put_setting(into, rest, row),
            Some((name, _)) if sections.contains(&name) => {}
            Some((name, _)) => {
                sections.push(name);
                let class = class_name(&row.key[..row.key.len() - rest.len() + name.len()]);
                into.push_str(&format!("    {name}: {class} = {class}()\n"));
            }
        }
    }
}

/// The name of the class of a section in dots.
fn class_name(section: &str) -> String {
    let capitalised = |word: &str| word[..1].to_ascii_uppercase() + &word[1..];
    section.split(['.', '_']).map(capitalised).collect()
}

fn put_setting(into: &mut String, name: &str, row: &SettingRow) {
    let spelt = spell(&row.kind);
    into.push_str(&format!("    {name}: Annotated[\n        {},\n        Leaf(\n", spelt.class));
    put(into, &spelt.kind, 3);
    put_text(into, row.sentence, 3);
    for argument in &spelt.arguments {
        put(into, argument, 3);
    }
    for (is_so, argument) in [(row.reach.reloadable, "reloadable=True"), (row.reach.iggy, "iggy=True")] {
        if is_so {
            put(into, &word(argument), 3);
        }
    }
    into.push_str(&format!("        ),\n    ] = {}\n", spelt.default));
}

/// How Python spells the kind of a setting.
struct Spelt {
    class: &'static str,
    kind: Expression,
    arguments: Vec<Expression>,
    default: String,
}

fn spell(kind: &SettingKind) -> Spelt {
    let plain = |class, kind: &str, default: String| Spelt {
        class,
        kind: word(kind),
        arguments: Vec::new(),
        default,
    };
    match kind {
        SettingKind::Boolean(value) => {
            plain("bool", "BOOLEAN", if *value { "True" } else { "False" }.to_owned())
        }
        SettingKind::Count(value, things) => {
            let mut spelt = bounded("int", "COUNT", value, |number| number.to_string());
            spelt.arguments.push(word(format_args!("counts=\"{things}\"")));
            spelt
        }
        SettingKind::Size(value) => bounded("int", "SIZE", value, |number| number.to_string()),
        SettingKind::Duration(value) => {
            bounded("timedelta", "DURATION", value, |millis| format!("timedelta(milliseconds={millis})"))
        }
        SettingKind::Address(value) => plain("Address", "ADDRESS", format!("ADDRESS.parse(\"{value}\")")),
        SettingKind::Path(value) => plain("Path", "PATH", format!("Path(\"{value}\")")),
        SettingKind::Text(value) => plain("str", "TEXT", format!("\"{value}\"")),
        SettingKind::ConsumerIdle(value) => {
            plain("ConsumerIdle", "CONSUMER_IDLE", format!("CONSUMER_IDLE.parse(\"{value}\")"))
        }
        SettingKind::Cpus(value) => plain("CpuAllocation", "CPUS", format!("CPUS.parse(\"{value}\")")),
        SettingKind::Choice { default, words, synonyms } => {
            let mut items: Vec<_> = words.iter().map(|word| text(word)).collect();
            if !synonyms.is_empty() {
                let pairs = synonyms.iter().map(|(other, word)| texts([*other, *word]));
                items.push(word(format_args!("synonyms={}", tuple(pairs))));
            }
            Spelt { kind: call("choice", items), ..plain("str", "", format!("\"{default}\"")) }
        }
    }
}

fn bounded(class: &'static str, kind: &str, value: &Bounded, spell: impl Fn(u64) -> String) -> Spelt {
    let bounds = [("at_least", value.least), ("at_most", value.most)];
    Spelt {
        class,
        kind: word(kind),
        arguments: bounds.map(|(name, bound)| word(format_args!("{name}={}", spell(bound)))).into(),
        default: spell(value.default),
    }
}
