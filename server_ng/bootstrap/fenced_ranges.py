"""Ranges of lost messages, as the list of segments of a partition names them. The file is only read."""

from dataclasses import dataclass
from pathlib import Path

from server_ng.bootstrap.described_file import TooLargeError, described
from server_ng.bootstrap.stored_metadata import group_directory

__all__ = ["FencedRange", "read_fenced_ranges"]


@dataclass(frozen=True, slots=True)
class FencedRange:
    """Offsets whose messages are lost."""

    first_offset: int
    last_offset: int
    file: Path
    """The segment that held them."""


def read_fenced_ranges(path: Path, group: int) -> tuple[FencedRange, ...]:
    """The ranges of a group in the data directory `path`; none if its list is missing or unreadable."""
    directory = group_directory(path, group)
    try:
        lines = [line for line in described("segments", directory / "SEGMENTS") if "refused" not in line]
    except (OSError, TooLargeError):
        return ()
    return tuple(
        FencedRange(line["first_offset"], line["last_offset"], directory / line["file"])
        for line in lines
        if line["structure"] == "fence"
    )
