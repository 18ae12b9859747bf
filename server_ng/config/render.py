"""The settings as text: the commented file of defaults, and the effective values with their origins."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from server_ng.config.leaf import Leaf
from server_ng.config.model import Settings, leaves, section_sentence, value_of
from server_ng.config.names import iggy_variables, own_variable

__all__ = ["EffectiveValue", "default_file", "effective"]

_HEAD = """\
# Configuration of server-ng. Every key is shown with its default and commented out.
#
# The last source with a value wins: the default, the file named by --config, the variable, --set key=value on
# the command line. If Iggy has the same setting, its variable works, too.
#
# The root user's name and password are not in this file: set IGGY_ROOT_USERNAME and IGGY_ROOT_PASSWORD.
# This file is generated; `server-ng config defaults` prints it.
"""


@dataclass(frozen=True, slots=True)
class EffectiveValue:
    """The effective value of one setting."""

    key: str
    value: str
    """As a TOML literal."""
    origin: str


def default_file() -> str:
    """The content of the configuration file with every key commented out."""
    defaults = Settings()
    lines = [_HEAD]
    section = ""
    for key, leaf in leaves().items():
        table, _, name = key.rpartition(".")
        if table != section:
            section = table
            lines.append(f"# {section_sentence(table)}\n[{table}]\n")
        lines.append(
            "\n".join((*_comment(key, leaf), f"# {name} = {leaf.kind.show(value_of(defaults, key))}\n"))
        )
    return "\n".join(lines)


def effective(settings: Settings, origins: Mapping[str, str]) -> tuple[EffectiveValue, ...]:
    """The effective value of every setting, in the order of the model."""
    return tuple(
        EffectiveValue(key, leaf.kind.show(value_of(settings, key)), origins[key])
        for key, leaf in leaves().items()
    )


def _comment(key: str, leaf: Leaf) -> Iterator[str]:
    yield f"# {leaf.meaning}"
    yield f"# Unit: {leaf.unit}.{f' Bounds: {leaf.bounds}.' if leaf.bounds else ''}"
    variables = " or ".join((own_variable(key), *iggy_variables(key)))
    yield f"# Variable: {variables}. {'Reloaded on SIGHUP.' if leaf.reloadable else 'Needs a restart.'}"
