"""Durations and sizes as clients write them in options.

A committed op is read by this grammar on every replica and at every replay, so it is apart from that of the
configuration, and it changes with the feature level only. Letters and digits are ASCII; `M` is a month, `m` a
minute, and the case of a size does not matter.
"""

import re
from typing import Final

__all__ = ["U64_MAX", "microseconds", "size_bytes", "whole_number"]

U64_MAX: Final = (1 << 64) - 1

_NANOSECONDS = {
    ("ns", "nsec", "nanos"): 1,
    ("us", "usec", "micros"): 10**3,
    ("ms", "msec", "millis"): 10**6,
    ("s", "sec", "secs", "second", "seconds"): 10**9,
    ("m", "min", "mins", "minute", "minutes"): 60 * 10**9,
    ("h", "hr", "hrs", "hour", "hours"): 3_600 * 10**9,
    ("d", "day", "days"): 86_400 * 10**9,
    ("w", "wk", "wks", "week", "weeks"): 7 * 86_400 * 10**9,
    ("M", "month", "months"): 2_630_016 * 10**9,
    ("y", "yr", "yrs", "year", "years"): 31_557_600 * 10**9,
}
_DURATION_UNITS = {unit: size for units, size in _NANOSECONDS.items() for unit in units}
_DURATION_TERM = re.compile(r" *([0-9]{1,20}) *([A-Za-z]{1,7})")

_SIZE_LETTERS = "kmgtpe"
_SIZE_UNITS = (
    {"": 1, "b": 1}
    | {letter + tail: 1000**power for power, letter in enumerate(_SIZE_LETTERS, 1) for tail in ("", "b")}
    | {letter + tail: 1024**power for power, letter in enumerate(_SIZE_LETTERS, 1) for tail in ("i", "ib")}
)
_SIZE = re.compile(r"([0-9]{1,20})(?:\.([0-9]{1,9}))? *([A-Za-z]{0,3})")
_NUMBER = re.compile(r"[0-9]{1,20}")


def whole_number(text: str) -> int | None:
    """The number that `text` spells out."""
    return _bounded(int(text)) if _NUMBER.fullmatch(text) else None


def microseconds(text: str) -> int | None:
    """The microseconds that `text` stands for, such as ``7 days``, ``1h 30m`` or a plain number of them."""
    if _NUMBER.fullmatch(text):
        return whole_number(text)
    total = position = 0
    while position < len(text):
        term = _DURATION_TERM.match(text, position)
        unit = _DURATION_UNITS.get(term[2]) if term else None
        if term is None or unit is None:
            return None
        total += int(term[1]) * unit
        position = term.end()
    whole, finer = divmod(total, 1_000)
    return _bounded(whole) if text and not finer else None


def size_bytes(text: str) -> int | None:
    """The bytes that `text` stands for, such as ``1 GiB``, ``1.5MB`` or a plain number of them."""
    form = _SIZE.fullmatch(text)
    unit = _SIZE_UNITS.get(form[3].lower()) if form else None
    if form is None or unit is None:
        return None
    decimals = form[2] or ""
    whole, rest = divmod(int(form[1] + decimals) * unit, 10 ** len(decimals))
    return None if rest else _bounded(whole)


def _bounded(value: int) -> int | None:
    return value if value <= U64_MAX else None
