"""The part of ``server-ng recover`` that lists lost messages in segments, which no start has to accept."""

from collections.abc import Iterator, Mapping
from pathlib import Path

__all__ = ["print_fenced_ranges"]


def print_fenced_ranges(directory: Path) -> bool:
    """Print the lost ranges of every partition, by name; false if there are none."""
    from server_ng.bootstrap.fenced_ranges import read_fenced_ranges

    names = _names(directory)
    found = False
    for group in _groups(directory):
        for lost in read_fenced_ranges(directory, group):
            if not found:
                print(
                    "These messages are lost. The server serves all others, and nothing has to be accepted:"
                )
            found = True
            name = names.get(group, f"group {group:016x}")
            print(f"{name}, offsets {lost.first_offset} to {lost.last_offset}\n    {lost.file}")
    return found


def _groups(directory: Path) -> Iterator[int]:
    for file in sorted(directory.glob("groups/??/*/SEGMENTS")):
        yield int(file.parent.name, 16)


def _names(directory: Path) -> Mapping[int, str]:
    from server_ng.bootstrap.stored_metadata import StoredError, read_metadata

    try:
        state = read_metadata(directory).state
    except StoredError:
        # The ranges are listed by the numbers of their groups.
        return {}
    return {
        row.group: f"stream {stream.row.name}, topic {topic.row.name}, partition {number}"
        for stream in state.streams.values()
        for topic in stream.topics.values()
        for number, row in enumerate(topic.partitions)
    }
