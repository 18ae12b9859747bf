"""Keys that Iggy 0.9.0 moved out of its `[system]` table. Files and variables of both shapes are read."""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Final

from server_ng.config.iggy_keys import IGGY_KEYS, IggyKey
from server_ng.config.model import leaves

__all__ = ["MOVED_SECTIONS", "canonical", "fate_of_moved_variable", "moved_keys"]

MOVED_SECTIONS: Final = frozenset({"runtime", "logging", "encryption", "sharding", "memory_pool"})
"""Tables that are at the top level since then; `system.path` and `system.partition` moved, too."""

_TABLE: Final = "system."


def canonical(key: str) -> str:
    """The key as this server writes it, for a key of either shape."""
    section = key.partition(".")[0]
    return f"{_TABLE}{key}" if section in MOVED_SECTIONS else moved_keys().get(key, key)


@cache
def moved_keys() -> Mapping[str, str]:
    """Every moved key of Iggy as its release writes it, with the key as this server writes it.

    A key of `[partition]` that Iggy had in that table before is not a moved one.
    """
    iggy = {*IGGY_KEYS, *(key for key, leaf in leaves().items() if leaf.iggy)}
    moved = {key.removeprefix(_TABLE): key for key in iggy if key.startswith(_TABLE)}
    return MappingProxyType({new: key for new, key in moved.items() if _is_moved(new) and new not in iggy})


def fate_of_moved_variable(name: str) -> tuple[str, IggyKey] | None:
    """The key of a variable of that release, and its fate, if it is not honoured."""
    for new, key in moved_keys().items():
        if key in IGGY_KEYS and name == f"IGGY_{new.replace('.', '_').upper()}":
            return key, IGGY_KEYS[key]
    return None


def _is_moved(key: str) -> bool:
    section = key.partition(".")[0]
    return key == "path" or section == "partition" or section in MOVED_SECTIONS
