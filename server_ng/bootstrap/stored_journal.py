"""What the journals of a stopped server hold behind the manifests. The files are only read."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from server_ng.bootstrap.described_file import TooLargeError, described
from server_ng.bootstrap.stored_metadata import StoredError, StoredMetadata
from server_ng.wire.tables import ExitStatus

__all__ = ["JournalBatch", "JournalTail", "read_tails"]

_ROOT: Final = f"{0:032x}"
"""The parent of the first operation of a log."""
_PURGE: Final = 34
"""The operation that drops all messages before it."""


@dataclass(frozen=True, slots=True)
class JournalBatch:
    """A batch that the journal holds."""

    first_offset: int
    last_offset: int
    messages: int
    bytes: int


@dataclass(frozen=True, slots=True)
class JournalTail:
    """What follows in the log of a partition on what its manifest entry says."""

    operations: int
    purged: bool
    """Whether nothing of before counts any more."""
    batches: tuple[JournalBatch, ...]

    def behind(self, last_offset: int | None) -> tuple[JournalBatch, ...]:
        """The batches that do not lie in segments that end with this offset."""
        known = -1 if last_offset is None or self.purged else last_offset
        return tuple(batch for batch in self.batches if batch.last_offset > known)


def read_tails(metadata: StoredMetadata, groups: Collection[int]) -> Mapping[int, JournalTail]:
    """The tail of each group; raises `StoredError`.

    Each record names the one before it by checksum: the chain that begins in the manifest is the log. Where a
    crash left two that follow on the same one, that of the higher view counts.
    """
    wanted = frozenset(groups)
    records = _records(metadata, wanted) if wanted else {}
    return {group: _tail(records.get(group, {}), metadata.groups.get(group)) for group in wanted}


def _tail(records: Mapping[str, dict[str, Any]], entry: Mapping[str, Any] | None) -> JournalTail:
    following: dict[str, dict[str, Any]] = {}
    for record in records.values():
        before = following.get(record["parent"])
        if before is None or record["view"] > before["view"]:
            following[record["parent"]] = record
    at = _ROOT if entry is None else str(entry["anchor"])
    operations, purged, batches = 0, False, list[JournalBatch]()
    while at in following:
        record = following.pop(at)
        at, operations = record["checksum"], operations + 1
        if "base_offset" in record:
            batches.append(
                JournalBatch(
                    record["base_offset"], record["last_offset"], record["count"], record["body_length"]
                )
            )
        elif record["operation"] == _PURGE:
            purged, batches = True, []
    return JournalTail(operations, purged, tuple(batches))


def _records(metadata: StoredMetadata, groups: Collection[int]) -> dict[int, dict[str, dict[str, Any]]]:
    """The prepares of these groups by checksum; of what was written twice, once."""
    found: dict[int, dict[str, dict[str, Any]]] = {}
    for shard in metadata.shards:
        for file in sorted(shard.glob("journal-*")):
            try:
                for line in described("journal", file):
                    is_prepare = line["structure"] == "record" and line["kind"] == "prepare"
                    if is_prepare and line["group"] in groups and "refused" not in line:
                        found.setdefault(line["group"], {})[line["checksum"]] = line
            except OSError as error:
                why = f"{file} cannot be read: {error.strerror}"
                raise StoredError(why, ExitStatus.DAMAGED_DATA) from error
            except TooLargeError as error:
                raise StoredError(f"{file}: {error}", ExitStatus.DAMAGED_DATA) from error
    return found
