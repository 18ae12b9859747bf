"""Names of settings: the variables that stand for a key, and the nearest name to a mistyped one."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import cache
from os.path import commonprefix
from types import MappingProxyType

from server_ng.config.model import leaves

__all__ = ["OWN_PREFIX", "iggy_variable", "keys_by_variable", "nearest", "own_variable"]

OWN_PREFIX = "SERVER_NG__"
_LENGTH_MAX = 100


def own_variable(key: str) -> str:
    """The variable of ours that sets `key`."""
    return OWN_PREFIX + key.replace(".", "__").upper()


def iggy_variable(key: str) -> str:
    """The variable of Iggy that sets `key`, if Iggy has the key."""
    return f"IGGY_{key.replace('.', '_').upper()}"


@cache
def keys_by_variable() -> Mapping[str, str]:
    """The key of every variable that is honoured; Iggy's come before ours, so that ours win in this order."""
    iggy = {iggy_variable(key): key for key, leaf in leaves().items() if leaf.iggy}
    return MappingProxyType(iggy | {own_variable(key): key for key in leaves()})


def nearest(name: str, known: Iterable[str]) -> str:
    """A sentence that proposes the known name nearest to `name`, or an empty text."""
    # The comparison is quadratic in the length, so that a hostile name is not compared at all.
    if len(name) > _LENGTH_MAX:
        return ""
    candidates = tuple(known)
    # What all have in common, such as SERVER_NG__, says nothing about how near two names are.
    shared = len(commonprefix((name, *candidates)))  # noqa: RUF071  characters are what is meant
    by_rest = {candidate[shared:].lower(): candidate for candidate in candidates}
    matches = get_close_matches(name[shared:].lower(), by_rest, n=1, cutoff=0.6)
    return f"Did you mean {by_rest[matches[0]]}?" if matches else ""
