"""A file of a data directory in lines of JSON, read in pieces of a bounded size."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from server_ng import binding

__all__ = ["TooLargeError", "described", "described_lines"]

_PIECE_BYTES: Final = 1 << 20
_PIECE_BYTES_MAX: Final = 64 << 20


class TooLargeError(Exception):
    """One structure claims more bytes than are read at a time."""


def described_lines(kind: str, path: Path) -> Iterator[str]:
    """What a file holds, a line for each structure; raises OSError and `TooLargeError`."""
    with path.open("rb") as file:
        length = file.seek(0, 2)
        position, wanted = 0, min(_PIECE_BYTES, length)
        while True:
            file.seek(position)
            piece = file.read(wanted)
            if len(piece) < wanted:
                # Somebody cut the file meanwhile: what is there now is what is described.
                length = position + len(piece)
            text, following, more = binding.describe_file(kind, position, length, piece)
            yield from text.splitlines()
            if not more or (following == position and more <= len(piece)):
                return
            if more > _PIECE_BYTES_MAX:
                raise TooLargeError(f"a structure of {more} bytes at {following} is larger than any of ours")
            position, wanted = following, more


def described(kind: str, path: Path) -> Iterator[dict[str, Any]]:
    """The same, taken apart; the last one has ``refused`` and ``reason`` if the file is damaged there."""
    for line in described_lines(kind, path):
        yield json.loads(line)
