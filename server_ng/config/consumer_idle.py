"""How long retention keeps messages that an absent consumer has not read: a duration, ``all`` or ``none``.

``str`` of each value is the text that `parse_consumer_idle` reads back.
"""

from dataclasses import dataclass
from datetime import timedelta

from typing_extensions import override

from server_ng.config.duration import format_duration, parse_duration
from server_ng.config.errors import BadValueError

__all__ = ["ConsumerIdle", "parse_consumer_idle"]

_SHORTEST = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class ConsumerIdle:
    """How long the stored offset of a consumer counts after it was seen last."""

    after: timedelta | None
    """None: as long as it is stored. No time at all: never."""

    @property
    def word(self) -> str:
        """The word for a value that is no duration, else an empty text."""
        if self.after is None:
            return "all"
        return "" if self.after else "none"

    @override
    def __str__(self) -> str:
        return self.word or format_duration(self.after or timedelta())


def parse_consumer_idle(raw: object) -> ConsumerIdle:
    """The value of `raw`."""
    if isinstance(raw, ConsumerIdle):
        return raw
    word = raw.strip().lower() if isinstance(raw, str) else ""
    if word == "all":
        return ConsumerIdle(None)
    if word == "none":
        return ConsumerIdle(timedelta())
    after = parse_duration(raw)
    if after < _SHORTEST:
        raise BadValueError(
            f"{format_duration(after)} is less than a second.",
            'Write "none" to let no consumer hold messages.',
        )
    return ConsumerIdle(after)
