"""Names of settings: the variables of a key, and the name nearest to a mistyped one."""

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from os.path import commonprefix
from types import MappingProxyType

from server_ng.config.iggy_moved import moved_keys
from server_ng.config.model import leaves

__all__ = ["OWN_PREFIX", "iggy_variable", "iggy_variables", "keys_by_variable", "nearest", "own_variable"]

OWN_PREFIX = "SERVER_NG__"
_LENGTH_MAX = 100


def own_variable(key: str) -> str:
    """The variable of ours that sets `key`."""
    return OWN_PREFIX + key.replace(".", "__").upper()


def iggy_variable(key: str) -> str:
    """The variable of Iggy that sets `key`, if Iggy has the key."""
    return f"IGGY_{key.replace('.', '_').upper()}"


def iggy_variables(key: str) -> tuple[str, ...]:
    """Every variable of Iggy that sets a key of ours, of either shape."""
    return tuple(
        name
        for name, set_by in keys_by_variable().items()
        if set_by == key and not name.startswith(OWN_PREFIX)
    )


@cache
def keys_by_variable() -> Mapping[str, str]:
    """The key of every variable that is honoured; Iggy's come before ours, so that ours win in this order."""
    iggy = {iggy_variable(key): key for key, leaf in leaves().items() if leaf.iggy}
    iggy |= {iggy_variable(new): key for new, key in moved_keys().items() if key in leaves()}
    return MappingProxyType(iggy | {own_variable(key): key for key in leaves()})


def nearest(name: str, known: Iterable[str], separator: str = ".") -> str:
    """A sentence that proposes a known name for a mistyped one, or an empty text.

    Names of the same section come first, because a name that is near as a whole may only share the section.
    """
    # The comparison is quadratic in the length, so that a hostile name is not compared at all.
    if len(name) > _LENGTH_MAX:
        return ""
    candidates = tuple(known)
    section, _, last = name.rpartition(separator)
    beside = {each.rpartition(separator)[2]: each for each in candidates if _is_in(each, section, separator)}
    found = _only_one(last, candidates, separator) or _closest(last, beside)
    if found is None and section and beside:
        return f"Its section has {', '.join(sorted(beside))}."
    found = found or _closest_whole(name, candidates)
    return f"Did you mean {found}?" if found else ""


def _only_one(last: str, candidates: Sequence[str], separator: str) -> str | None:
    """The name of any section that ends in these words. A single word such as `address` is not enough."""
    found = [each for each in candidates if each.rpartition(separator)[2].lower() == last.lower()]
    return found[0] if len(found) == 1 and "_" in last else None


def _is_in(name: str, section: str, separator: str) -> bool:
    return name.rpartition(separator)[0] == section


def _closest_whole(name: str, candidates: Sequence[str]) -> str | None:
    # What all have in common, such as SERVER_NG__, says nothing about how near two names are.
    shared = len(commonprefix((name, *candidates)))  # noqa: RUF071  characters are what is meant
    return _closest(name[shared:], {candidate[shared:]: candidate for candidate in candidates})


def _closest(text: str, named: Mapping[str, str]) -> str | None:
    """The name whose text is nearest, whatever the case."""
    by_text = {each.lower(): name for each, name in named.items()}
    matches = get_close_matches(text.lower(), by_text, n=1, cutoff=0.6)
    return by_text[matches[0]] if matches else None
