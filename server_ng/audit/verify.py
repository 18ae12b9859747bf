"""What an audit file proves: how far its chain holds, and where the first line is changed or missing."""

from collections.abc import Iterable
from dataclasses import dataclass

from server_ng.audit.chain import OPENED, BadLineError, Link, read

__all__ = ["Verified", "verify"]


@dataclass(frozen=True, slots=True)
class Verified:
    """How far the lines of a file follow from each other."""

    lines: int
    """Lines before the first fault, or all."""
    last: Link | None
    """Where the chain stands after them; a copy of it kept elsewhere also shows lines that were cut off."""
    fault: str | None = None
    """The first gap or change, in a sentence."""


def verify(lines: Iterable[bytes]) -> Verified:
    """Follows the chain through the lines of a file, which keep their line feeds, to its first fault."""
    last: Link | None = None
    count = 0
    for count, line in enumerate(lines, 1):
        fault, link = _judge(count, line, last)
        if fault is not None:
            return Verified(count - 1, last, fault)
        last = link
    return Verified(count, last)


def _judge(at: int, line: bytes, before: Link | None) -> tuple[str | None, Link | None]:
    if not line.endswith(b"\n"):
        return f"Line {at} is cut off. The server removes such a line when it starts.", None
    try:
        link, fields, follows = read(line[:-1], before)
    except BadLineError:
        return f"Line {at} is not a line of an audit file.", None
    if before is None and fields.get("event") != OPENED:
        return "Lines are missing before line 1: it does not begin a file.", None
    if not follows:
        return f"Line {at} was changed, or lines before it were changed, added or removed.", None
    if before is not None and link.number != before.number + 1:
        lost = link.number - before.number - 1
        return f"{lost} lines are missing before line {at}: the server could not write them.", None
    return None, link
