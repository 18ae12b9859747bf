"""The partitions of a stopped server by their names, as far as its metadata can be read."""

from collections.abc import Mapping
from pathlib import Path

from server_ng.bootstrap.stored_metadata import StoredError, read_metadata

__all__ = ["stored_partitions"]


def stored_partitions(path: Path) -> Mapping[int, str]:
    """``stream/topic/partition`` of each group.

    A damaged directory may have no metadata that can be read, and a topic that is younger than the last
    manifest is in the journal only: those groups have no name here.
    """
    try:
        state = read_metadata(path).state
    except StoredError:
        return {}
    return {
        row.group: f"{stream.row.name}/{topic.row.name}/{number}"
        for stream in state.streams.values()
        for topic in stream.topics.values()
        for number, row in enumerate(topic.partitions)
    }
