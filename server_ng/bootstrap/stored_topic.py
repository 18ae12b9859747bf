"""What a stopped server has of a topic in its segments, every batch of them held against its checksums."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from server_ng.bootstrap.described_file import TooLargeError, described
from server_ng.bootstrap.stored_journal import JournalBatch, read_tails
from server_ng.bootstrap.stored_metadata import StoredError, StoredMetadata, group_directory
from server_ng.metadata.state import State, Stream, Topic
from server_ng.wire.tables import ExitStatus

__all__ = ["StoredPartition", "StoredSegment", "find_topic", "read_partitions", "read_segment"]

_NO_OFFSET: Final = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class StoredSegment:
    """A segment as it was read now."""

    file: str
    sealed: bool
    first_offset: int
    last_offset: int | None
    """None if there is no batch that can be read."""
    messages: int
    bytes: int
    """Of batches."""
    file_bytes: int
    damage: str
    """What is wrong and where; empty if nothing is."""


@dataclass(frozen=True, slots=True)
class StoredPartition:
    """A partition and its segments."""

    partition: int
    group: int
    purge_generation: int
    first_offset: int
    last_offset: int | None
    """Up to where the manifest vouches for messages."""
    segments: tuple[StoredSegment, ...]
    journal: tuple[JournalBatch, ...]
    """Batches that are in no segment yet. After a crash the last ones may be nobody's: a start decides."""
    purged: bool
    """Whether the journal holds a purge that the segments have not followed yet."""
    damage: str


def find_topic(state: State, stream: str, topic: str) -> tuple[Stream, Topic]:
    """The topic that is called this, by name or number; raises `StoredError`."""
    found = state.find(stream) or (state.find(int(stream)) if _is_number(stream) else None)
    if found is None:
        raise StoredError(f"there is no stream {stream!r}", ExitStatus.CONFIGURATION)
    inner = found.find(topic) or (found.find(int(topic)) if _is_number(topic) else None)
    if inner is None:
        raise StoredError(f"there is no topic {topic!r} in the stream {stream!r}", ExitStatus.CONFIGURATION)
    return found, inner


def read_partitions(path: Path, metadata: StoredMetadata, topic: Topic) -> Iterator[StoredPartition]:
    """Every partition of a topic, one after the other; all their segments are read."""
    tails = read_tails(metadata, [row.group for row in topic.partitions])
    for number, row in enumerate(topic.partitions):
        entry = metadata.groups.get(row.group, {})
        vouched = entry.get("last_offset", _NO_OFFSET)
        last = None if vouched == _NO_OFFSET else vouched
        tail = tails[row.group]
        if tail.purged:
            # The segments may have followed the purge, of which the manifest does not know.
            last = None
        segments, damage = _segments(group_directory(path, row.group), last)
        if not segments and not damage and last is not None:
            damage = f"no segment, and offset {last} was there"
        yield StoredPartition(
            partition=number,
            group=row.group,
            purge_generation=entry.get("purge_generation", 0),
            first_offset=entry.get("first_offset", 0),
            last_offset=last,
            segments=segments,
            journal=tail.behind(segments[-1].last_offset if segments else None),
            purged=tail.purged,
            damage=damage,
        )


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 9


def _segments(directory: Path, vouched: int | None) -> tuple[tuple[StoredSegment, ...], str]:
    try:
        listed = list(described("segments", directory / "SEGMENTS"))
    except FileNotFoundError:
        # It comes with the first batch that is written.
        return (), ""
    except OSError as error:
        return (), f"SEGMENTS: {error.strerror}"
    if "refused" in listed[0]:
        return (), f"SEGMENTS: {listed[0]['refused']}: {listed[0]['reason']}"
    lost = dict[str, list[str]]()
    for line in listed:
        if line["structure"] == "fence":
            lost.setdefault(line["file"], []).append(f"{line['first_offset']} to {line['last_offset']}")
    # What is loose beside them does not count.
    segments = (line for line in listed if line["structure"] == "segment")
    found = (read_segment(directory, entry, vouched) for entry in segments)
    return tuple(_fenced(segment, lost.get(Path(segment.file).name, [])) for segment in found), ""


def _fenced(segment: StoredSegment, lost: list[str]) -> StoredSegment:
    """A segment of which the server knows that messages are lost."""
    if not lost:
        return segment
    return replace(segment, damage=f"lost offsets: {', '.join(lost)} ({segment.damage or 'fenced'})")


def read_segment(directory: Path, entry: dict[str, Any], vouched: int | None) -> StoredSegment:
    """Reads a segment that the list of a partition names; messages are vouched for up to an offset."""
    path = directory / entry["file"]
    messages, size, file_bytes, damage = 0, 0, 0, ""
    first, last, footer = None, None, None
    try:
        file_bytes = path.stat().st_size
        for line in described("segment", path):
            if "refused" in line:
                damage = f"{line['refused']}: {line['reason']}, at {line['position']}"
            elif line["structure"] == "batch":
                first = line["base_offset"] if first is None else first
                messages, size, last = messages + line["count"], size + line["bytes"], line["last_offset"]
            else:
                footer = line["checksum"]
    except OSError as error:
        damage = error.strerror or str(error)
    except TooLargeError as error:
        damage = str(error)
    if not entry["sealed"] and last is not None and last >= (last if vouched is None else vouched):
        # What a crash left unfinished behind that is in the journal still.
        damage = ""
    begins, ends = first, last
    if entry["generation"] > 0 and first is not None and last is not None:
        # What a compaction left stands for its range, whatever is left of the first and the last messages.
        begins, ends = min(first, entry["base_offset"]), max(last, entry["last_offset"])
    listed = (entry["messages"], entry["last_offset"], entry["footer"])
    if not damage and entry["sealed"] and (messages, ends, footer) != listed:
        damage = f"it has {messages} messages up to {last}, and is another one than the list names"
    if not damage and begins != entry["base_offset"]:
        damage = "it has no batch with the offset of its name"
    return StoredSegment(
        file=str(path),
        sealed=entry["sealed"],
        first_offset=entry["base_offset"],
        last_offset=last,
        messages=messages,
        bytes=size,
        file_bytes=file_bytes,
        damage=damage,
    )
