"""The part of ``server-ng recover`` that lists lost messages in segments. They need no acceptance."""

from collections.abc import Iterator, Mapping
from pathlib import Path

__all__ = ["print_fenced_ranges"]


def print_fenced_ranges(directory: Path, partitions: Mapping[int, str]) -> bool:
    """Prints the lost ranges of every partition; false if there are none."""
    from server_ng.bootstrap.fenced_ranges import read_fenced_ranges

    found = False
    for group in _groups(directory):
        for lost in read_fenced_ranges(directory, group):
            if not found:
                print(
                    "These messages are lost. The server serves all others, so nothing needs to be accepted:"
                )
            found = True
            name = partitions.get(group, f"partition group {group:016x}")
            print(f"{name}, offsets {lost.first_offset} to {lost.last_offset}\n    {lost.file}")
    return found


def _groups(directory: Path) -> Iterator[int]:
    for file in sorted(directory.glob("groups/??/*/SEGMENTS")):
        yield int(file.parent.name, 16)
