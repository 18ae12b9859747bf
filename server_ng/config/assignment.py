"""Assignments: the values in the file, the environment and the command line, each checked alone."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from server_ng.config.errors import BadValueError, Fault, shown
from server_ng.config.iggy_keys import (
    FOREIGN_VARIABLES,
    IGGY_KEYS,
    IGGY_VARIABLES,
    Fate,
    IggyKey,
    fate_of_key,
    fate_of_variable,
)
from server_ng.config.iggy_moved import MOVED_SECTIONS, canonical, fate_of_moved_variable, moved_keys
from server_ng.config.leaf import BOOLEAN
from server_ng.config.model import leaves
from server_ng.config.names import OWN_PREFIX, iggy_variable, keys_by_variable, nearest
from server_ng.config.root_credential import ROOT_VARIABLES
from server_ng.config.rules import Notice

__all__ = [
    "CONFIG_PATH_VARIABLE",
    "Assignment",
    "Findings",
    "from_environment",
    "from_overrides",
    "from_tree",
]

CONFIG_PATH_VARIABLE = "IGGY_CONFIG_PATH"
# Separates the sections in one of our variables.
_PART = "__"


@dataclass(frozen=True, slots=True)
class Assignment:
    """One key, its raw value, and its source."""

    key: str
    raw: object
    origin: str


@dataclass(slots=True)
class Findings:
    """Results of reading the layers so far."""

    assignments: list[Assignment] = field(default_factory=list)
    """In the order of the layers, because a later one wins."""
    faults: list[Fault] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    inert: list[str] = field(default_factory=list)
    """Keys and variables of Iggy that are set and have no effect."""

    def add(self, written: str, raw: object, origin: str) -> None:
        """Takes a value for a key that may be ours, Iggy's of either shape, or unknown."""
        key = canonical(written)
        if key in leaves():
            self.assignments.append(Assignment(key, raw, origin))
            return
        fate = fate_of_key(key)
        if fate is not None:
            self.add_iggy(written, fate, raw, origin)
            return
        if key in _sections():
            self.faults.append(_not_a_value(key, raw, origin))
            return
        self.faults.append(Fault(_printable(key), origin, "there is no such key.", _hint(key)))

    def add_iggy(self, key: str, entry: IggyKey, raw: object, origin: str) -> None:
        """Takes a value for a key that only Iggy has."""
        if entry.fate is Fate.REFUSED or (entry.fate is Fate.REFUSED_IF_TRUE and not _is_false(raw)):
            self.faults.append(Fault(key, origin, "this setting of Iggy is refused.", entry.advice))
        else:
            self.inert.append(key)


def from_tree(tree: dict[str, object], origin: str, into: Findings) -> None:
    """Takes every value of a TOML document."""
    stack: list[tuple[str, object]] = [("", tree)]
    places: dict[str, tuple[str, object]] = {}
    while stack:
        key, value = stack.pop()
        if key and key not in _sections():
            into.add(key, value, origin)
            other, before = places.setdefault(canonical(key), (key, value))
            if before != value:
                into.faults.append(_disagreement(key, other, origin))
        elif isinstance(value, dict):
            prefix = f"{key}." if key else ""
            stack.extend((f"{prefix}{name}", below) for name, below in reversed(value.items()))
        else:
            into.faults.append(_not_a_value(key, value, origin))


def from_environment(environment: Mapping[str, str], into: Findings) -> None:
    """Takes every variable that is ours or Iggy's; ours win over Iggy's."""
    known = keys_by_variable()
    collapsed = {name.replace(_PART, "_"): name for name in known if name.startswith(OWN_PREFIX)}
    ours = set()
    for name in sorted(environment):
        if name in known and name.startswith(OWN_PREFIX):
            ours.add(known[name])
        elif name.startswith(OWN_PREFIX) or name in collapsed:
            hint = (
                f"Did you mean {collapsed[name]}?"
                if name in collapsed
                else nearest(name, collapsed.values(), _PART)
            )
            into.faults.append(
                Fault(_printable(name), f"env {_printable(name)}", "there is no such variable.", hint)
            )
        elif name not in known:
            _take_foreign(name, environment[name], into)
    given: dict[str, str] = {}
    for name, key in known.items():
        raw = environment.get(name)
        # Iggy ignores its variables if they are empty, and compose files rely on it.
        if raw is None or (not raw and not name.startswith(OWN_PREFIX)):
            continue
        into.add(key, raw, f"env {name}")
        if not name.startswith(OWN_PREFIX):
            other = given.setdefault(key, name)
            if environment[other] != raw:
                into.faults.append(_disagreement(name, other, f"env {name}"))
        if key in ours and not name.startswith(OWN_PREFIX):
            message = f"{name} has no effect, because the variable of server-ng for {key} is set too."
            into.notices.append(Notice("variable_hidden", message, (name,)))


def from_overrides(overrides: Sequence[str], into: Findings) -> None:
    """Takes every ``key=value`` of the command line."""
    for position, override in enumerate(overrides, 1):
        key, equals, raw = override.partition("=")
        if equals and key.strip():
            into.add(key.strip(), raw, "--set")
        else:
            message = f"override number {position} is not of the form key=value."
            into.faults.append(Fault("--set", "--set", message, "For example --set tcp.address=127.0.0.1:0."))


def _disagreement(name: str, other: str, origin: str) -> Fault:
    """Two spellings of one setting in the same layer, so that none wins."""
    return Fault(name, origin, f"{other} sets another value for the same setting.", "Keep one of them.")


def _take_foreign(name: str, raw: str, into: Findings) -> None:
    is_iggy = name.startswith("IGGY_") or name in IGGY_VARIABLES
    if not raw or not is_iggy or name in ROOT_VARIABLES or name == CONFIG_PATH_VARIABLE:
        return
    found = fate_of_variable(name) or fate_of_moved_variable(name)
    if found is not None:
        _, entry = found
        into.add_iggy(name, entry, raw, f"env {name}")
    elif not name.startswith(FOREIGN_VARIABLES):
        text = _printable(name)
        own = _own_variables().get(name.removeprefix("IGGY_"))
        hint = f"Did you mean {own}?" if own is not None else nearest(name, _iggy_variables())
        into.notices.append(
            Notice("unknown_variable", f"{text}: there is no such variable. {hint}".rstrip(), (text,))
        )


def _not_a_value(section: str, raw: object, origin: str) -> Fault:
    keys = ", ".join(key for key in leaves() if key.startswith(f"{section}."))
    hint = f"Its keys are {keys}." if keys else ""
    return Fault(section, origin, f"this is a section and cannot have the value {shown(raw)}.", hint)


def _all_keys() -> Iterator[str]:
    yield from leaves()
    yield from IGGY_KEYS
    yield from moved_keys()


@cache
def _own_variables() -> Mapping[str, str]:
    """Variables of settings that Iggy lacks, by the name that Iggy would use."""
    ours = (name for name in keys_by_variable() if name.startswith(OWN_PREFIX))
    return {name.removeprefix(OWN_PREFIX).replace(_PART, "_"): name for name in ours}


def _iggy_variables() -> Iterator[str]:
    yield from (name for name in keys_by_variable() if not name.startswith(OWN_PREFIX))
    yield from ROOT_VARIABLES
    yield from (iggy_variable(key) for key in (*IGGY_KEYS, *moved_keys()))


def _hint(key: str) -> str:
    section = key.rpartition(".")[0]
    foreign = section in _sections() and section not in _own_names()
    hint = "" if foreign else nearest(key, _own_names())
    return hint or nearest(key, (*_all_keys(), *_sections()))


@cache
def _own_names() -> tuple[str, ...]:
    """Our keys and their sections. Hints prefer them to keys of Iggy without effect."""
    return (*leaves(), *_sections_of(leaves()))


@cache
def _sections() -> frozenset[str]:
    """Every table with a key of ours or of Iggy's. No other is walked, so its depth is harmless."""
    return MOVED_SECTIONS | frozenset(_sections_of(_all_keys()))


def _sections_of(keys: Iterable[str]) -> dict[str, None]:
    """The tables with these keys, in the order of the keys."""
    names = (key.split(".") for key in keys)
    return {".".join(parts[:depth]): None for parts in names for depth in range(1, len(parts))}


def _is_false(raw: object) -> bool:
    try:
        return BOOLEAN.parse(raw) is False
    except BadValueError:
        return False


def _printable(name: str) -> str:
    return shown(name)[1:-1]
