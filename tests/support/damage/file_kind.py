"""The kinds of files of a data directory, and where each kind lies."""

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path

from tests.support.storage_reader import segments

__all__ = ["FileKind", "find_files"]

_UNSEALED = (1 << 64) - 1


class FileKind(StrEnum):
    """A kind of file; damage is drawn for each of them alike."""

    LAYOUT = "LAYOUT"
    SUPERBLOCK = "superblock"
    JOURNAL = "journal"
    MANIFEST = "manifest"
    ACCEPTED_LOSS = "accepted-loss"
    SEGMENTS = "SEGMENTS"
    SEALED_LOG = "sealed .log"
    UNSEALED_LOG = "unsealed .log"
    COMPACTED_LOG = "compacted .log"
    INDEX = ".index"
    METADATA_STATE = "metadata state"
    LEASE_MANIFEST = "lease manifest"
    LEASED_LOG = "leased .log"
    TRASH = "trash"
    RUNTIME = "runtime"
    LOCK = "LOCK"


def find_files(data: Path) -> dict[FileKind, list[Path]]:
    """The files of each kind, relative to the data directory and in a stable order."""
    found: dict[FileKind, list[Path]] = {kind: [] for kind in FileKind}
    for path in sorted(data.rglob("*")):
        if path.is_file() and not path.is_symlink():
            for kind in _kinds(data, path):
                found[kind].append(path.relative_to(data))
    return found


def _kinds(data: Path, path: Path) -> Iterator[FileKind]:
    top, name = path.relative_to(data).parts[0], path.name
    if top == "shards":
        yield from _shard_kinds(name)
    elif top == "groups":
        yield from _group_kinds(path)
    elif top == "leases":
        yield FileKind.LEASED_LOG if path.suffix == ".log" else FileKind.LEASE_MANIFEST
    elif top in _TOP_KINDS:
        yield _TOP_KINDS[top]


_TOP_KINDS = {
    "LAYOUT": FileKind.LAYOUT,
    "LOCK": FileKind.LOCK,
    "trash": FileKind.TRASH,
    "runtime": FileKind.RUNTIME,
}


def _shard_kinds(name: str) -> Iterator[FileKind]:
    for prefix, kind in (
        ("superblock", FileKind.SUPERBLOCK),
        ("journal-", FileKind.JOURNAL),
        ("manifest-", FileKind.MANIFEST),
        ("accepted-loss", FileKind.ACCEPTED_LOSS),
    ):
        if name.startswith(prefix):
            yield kind


def _group_kinds(path: Path) -> Iterator[FileKind]:
    if path.name == "SEGMENTS":
        yield FileKind.SEGMENTS
    elif path.name.startswith("state-"):
        yield FileKind.METADATA_STATE
    elif path.suffix == ".index":
        yield FileKind.INDEX
    elif path.suffix == ".log":
        yield _log_kind(path)


def _log_kind(path: Path) -> FileKind:
    base, *generation = path.name.removesuffix(".log").split(".")
    if generation:
        return FileKind.COMPACTED_LOG
    listed = path.with_name("SEGMENTS")
    rows = segments(listed.read_bytes()) if listed.exists() else []
    sealed = any(row["base"] == int(base) and row["last"] != _UNSEALED for row in rows)
    return FileKind.SEALED_LOG if sealed else FileKind.UNSEALED_LOG
