"""A file of a data directory in lines of JSON, read in pieces of a bounded size."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from server_ng import binding

__all__ = ["TooLargeError", "described", "described_lines"]

_PIECE_BYTES: Final = 1 << 20
_PIECE_BYTES_MAX: Final = 64 << 20
# A journal may be damaged anywhere, so its pages are passed over until one begins with the magic of a block.
_NO_JOURNAL: Final = json.dumps(
    {"structure": "journal", "refused": "magic", "reason": "no page of the file begins a block"},
    separators=(",", ":"),
)


class TooLargeError(Exception):
    """One structure claims more bytes than are read at a time."""


def described_lines(kind: str, path: Path) -> Iterator[str]:
    """What a file holds, a line for each structure; raises OSError and `TooLargeError`."""
    with path.open("rb") as file:
        length = file.seek(0, 2)
        position, wanted = 0, min(_PIECE_BYTES, length)
        without_block, written = kind == "journal", False
        while True:
            file.seek(position)
            piece = file.read(wanted)
            if len(piece) < wanted:
                # Somebody cut the file meanwhile: what is there now is what is described.
                length = position + len(piece)
            text, following, more = binding.describe_file(kind, position, length, piece)
            yield from text.splitlines()
            without_block = without_block and not text
            written = written or not _is_unused(piece)
            if not more or (following == position and more <= len(piece)):
                if without_block and written:
                    yield _NO_JOURNAL
                return
            if more > _PIECE_BYTES_MAX:
                raise TooLargeError(f"a structure of {more} bytes at {following} is larger than any of ours")
            position, wanted = following, more


def described(kind: str, path: Path) -> Iterator[dict[str, Any]]:
    """The same, taken apart; the last one has ``refused`` and ``reason`` if the file is damaged there."""
    for line in described_lines(kind, path):
        yield json.loads(line)


def _is_unused(piece: bytes) -> bool:
    """Whether a piece of a journal was never written: a journal file is made of zeroes."""
    return bool(piece) and piece.count(0) == len(piece)
