"""Durations as people write them: ``10s``, ``250 ms``, ``1h 30m``, and Iggy's words for zero."""

import re
from datetime import timedelta

from server_ng.config.errors import BadValueError, shown

__all__ = ["format_duration", "parse_duration"]

_NANOSECONDS = {
    ("ns", "nsec"): 1,
    ("us", "\N{MICRO SIGN}s", "usec"): 10**3,
    ("ms", "msec"): 10**6,
    ("s", "sec", "secs", "second", "seconds"): 10**9,
    ("m", "min", "mins", "minute", "minutes"): 60 * 10**9,
    ("h", "hr", "hrs", "hour", "hours"): 3_600 * 10**9,
    ("d", "day", "days"): 86_400 * 10**9,
    ("w", "wk", "wks", "week", "weeks"): 7 * 86_400 * 10**9,
    ("month", "months"): 2_630_016 * 10**9,
    ("y", "yr", "yrs", "year", "years"): 31_557_600 * 10**9,
}
_BY_UNIT = {unit: size for units, size in _NANOSECONDS.items() for unit in units}
_ZERO = frozenset({"0", "none", "unlimited", "disabled"})
# Twelve digits of the largest unit stay far inside what timedelta can hold once the sum is checked.
_TERM = re.compile(r"\s*([0-9]{1,12})\s*([a-z\N{MICRO SIGN}]+)")
_LONGEST = timedelta(days=36_525)
_SHOWN = (("d", 86_400_000_000), ("h", 3_600_000_000), ("m", 60_000_000), ("s", 1_000_000), ("ms", 1_000))
_EXAMPLE = 'Write a number with a unit, for example "10s", "250ms" or "1m 30s".'


def parse_duration(raw: object) -> timedelta:
    """The duration in `raw`, exact to the microsecond."""
    if isinstance(raw, timedelta):
        return raw
    if not isinstance(raw, str):
        raise BadValueError("a duration needs a unit.", _EXAMPLE)
    text = raw.strip().lower()
    if text in _ZERO:
        return timedelta(0)
    total = 0
    position = 0
    while position < len(text):
        term = _TERM.match(text, position)
        size = _BY_UNIT.get(term.group(2)) if term else None
        if term is None or size is None:
            raise BadValueError(f"{shown(raw)} is not a duration.", _EXAMPLE)
        total += int(term.group(1)) * size
        position = term.end()
    if not text:
        raise BadValueError("an empty text is not a duration.", _EXAMPLE)
    if total % 1_000:
        raise BadValueError(f"{shown(raw)} is finer than a microsecond.")
    if total // 1_000 > _LONGEST // timedelta(microseconds=1):
        raise BadValueError(f"{shown(raw)} is longer than a century.")
    return timedelta(microseconds=total // 1_000)


def format_duration(value: timedelta) -> str:
    """The shortest text that `parse_duration` reads back as `value`."""
    rest = value // timedelta(microseconds=1)
    terms = []
    for unit, size in _SHOWN:
        count, rest = divmod(rest, size)
        if count:
            terms.append(f"{count}{unit}")
    if rest:
        terms.append(f"{rest}us")
    return " ".join(terms) or "0s"
