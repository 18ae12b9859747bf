//! What the engine is told, in Python.

use ng_wire::table::setting::ENGINE_VALUES;

use crate::python::put_sentence;

const HEAD: &str = r#""""What the engine is told at its start.

Generated from the tables of `native/wire` by `make generate`: change them there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final

from server_ng.config import Address, ConsumerIdle

__all__ = ["SETTING_OF", "EngineTable"]

SETTING_OF: Final[Mapping[str, str]] = {
"#;

const CLASS: &str = r#"}
"""The key of each value that is a setting; the control plane works the others out."""


@dataclass(frozen=True, slots=True)
class EngineTable:
    """A field for each value."""

"#;

/// The whole file.
pub(crate) fn values() -> String {
    let mut values = String::from(HEAD);
    for row in ENGINE_VALUES {
        if let Some(key) = row.key {
            values.push_str(&format!("    \"{}\": \"{key}\",\n", row.name));
        }
    }
    values.push_str(CLASS);
    for row in ENGINE_VALUES {
        values.push_str(&format!("    {}: {}\n", row.name, class(row.reader)));
        put_sentence(&mut values, row.sentence);
    }
    values
}

/// The class of the values that a method of the engine reads.
fn class(reader: &str) -> &'static str {
    match reader {
        "number" => "int",
        "millis" => "timedelta",
        "text" | "backend" => "str",
        "path" => "Path",
        "truth" => "bool",
        "address" => "Address",
        "hold" => "ConsumerIdle",
        "shards" => "Sequence[int | None]",
        other => unreachable!("{other} has no class in Python"),
    }
}
