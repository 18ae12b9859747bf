"""Amounts of bytes as people write them: ``64 MiB``, ``500 MB``, ``1200 B``, or a plain number."""

import re
from fractions import Fraction

from server_ng.config.errors import BadValueError, shown

__all__ = ["format_size", "parse_size"]

_LETTERS = "kmgtpe"
_BY_UNIT = (
    {"": 1, "b": 1}
    | {letter + tail: 1000**power for power, letter in enumerate(_LETTERS, 1) for tail in ("", "b")}
    | {letter + tail: 1024**power for power, letter in enumerate(_LETTERS, 1) for tail in ("i", "ib")}
)
_ZERO = frozenset({"none", "unlimited"})
_FORM = re.compile(r"([0-9]{1,20})(?:\.([0-9]{1,9}))?\s*([a-z]*)")
_LARGEST = 2**63 - 1
_EXAMPLE = 'Write a number with a unit, for example "64 MiB" or "500 MB".'


def parse_size(raw: object) -> int:
    """The number of bytes in `raw`."""
    if isinstance(raw, bool) or not isinstance(raw, (str, int)):
        raise BadValueError("this is not an amount of bytes.", _EXAMPLE)
    if isinstance(raw, int):
        return _bounded(raw, raw)
    text = raw.strip().lower()
    if text in _ZERO:
        return 0
    form = _FORM.fullmatch(text)
    factor = _BY_UNIT.get(form.group(3)) if form else None
    if form is None or factor is None:
        raise BadValueError(f"{shown(raw)} is not an amount of bytes.", _EXAMPLE)
    exact = Fraction(f"{form.group(1)}.{form.group(2) or 0}") * factor
    if exact.denominator != 1:
        raise BadValueError(f"{shown(raw)} is not a whole number of bytes.")
    return _bounded(exact.numerator, raw)


def _bounded(count: int, raw: object) -> int:
    if not 0 <= count <= _LARGEST:
        raise BadValueError(f"{shown(raw)} is outside what a size can hold.")
    return count


def format_size(count: int) -> str:
    """The text with the largest unit that divides `count`; `parse_size` reads it back."""
    for power in range(len(_LETTERS), 0, -1):
        for base, tail in ((1024, "iB"), (1000, "B")):
            if count and count % base**power == 0:
                return f"{count // base**power} {_LETTERS[power - 1].upper()}{tail}"
    return f"{count} B"
