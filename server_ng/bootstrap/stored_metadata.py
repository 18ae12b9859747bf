"""What the files of a stopped server say of its streams and topics, and of where each partition stood."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from server_ng.bootstrap.described_file import TooLargeError, described
from server_ng.metadata.machine import Metadata
from server_ng.metadata.rows import BadRowsError
from server_ng.metadata.state import State
from server_ng.wire.fields import Reader
from server_ng.wire.refusals import MalformedError
from server_ng.wire.tables import ExitStatus

__all__ = ["StoredError", "StoredMetadata", "group_directory", "read_metadata"]

_METADATA_GROUP: Final = 1 << 63
_STATE_HEADER_BYTES: Final = 128


class StoredError(Exception):
    """The files do not tell what was asked; a sentence, and the status of the command."""

    def __init__(self, sentence: str, status: ExitStatus) -> None:
        super().__init__(sentence)
        self.status = status


@dataclass(frozen=True, slots=True)
class StoredMetadata:
    """Streams and topics after an operation, and the entries of the manifests."""

    op: int
    clean: bool
    """Whether the last stop was in order: then no change of streams and topics is in the journal only."""
    state: State
    groups: dict[int, dict[str, Any]]
    shards: tuple[Path, ...]
    """Where each shard has its journal."""


def group_directory(path: Path, group: int) -> Path:
    """Where the files of a group lie."""
    name = f"{group:016x}"
    return path / "groups" / name[-2:] / name


def read_metadata(path: Path) -> StoredMetadata:
    """Reads manifests and the state of the metadata; raises `StoredError`."""
    clean, groups, shards = True, dict[int, dict[str, Any]](), list[Path]()
    for journal in _lines("layout", path / "LAYOUT")[1:]:
        shard = path / "shards" / f"{journal['epoch']:08}-{journal['shard']:08}"
        shards.append(shard)
        superblock = _lines("superblock", shard / "superblock")[-1]
        clean = clean and superblock["clean"]
        if superblock["manifest_sequence"]:
            manifest = _lines("manifest", shard / f"manifest-{superblock['manifest_sequence']:020}")
            groups |= {entry["group"]: entry for entry in manifest if entry["structure"] == "group"}
    anchor = groups.get(_METADATA_GROUP)
    if anchor is None:
        raise StoredError(
            f"{path} has no state of the metadata yet: streams and topics are in the journal only. "
            "Start the server and stop it in order.",
            ExitStatus.CONFIGURATION,
        )
    op = anchor["checkpointed_op"]
    file = group_directory(path, _METADATA_GROUP) / f"state-{op:020}"
    return StoredMetadata(op, clean, _state(file), groups, tuple(shards))


def _state(file: Path) -> State:
    (described_state,) = _lines("state", file)
    machine = Reader(file.read_bytes()[_STATE_HEADER_BYTES + described_state["clients"] :])
    metadata = Metadata()
    try:
        machine.u64()
        machine.take(machine.u32())
        machine.u64()
        metadata.load(machine.rest(), last=True)
    except (MalformedError, BadRowsError) as error:
        raise StoredError(f"{file}: {error}", ExitStatus.DAMAGED_DATA) from error
    return metadata.state


def _lines(kind: str, file: Path) -> list[dict[str, Any]]:
    """All lines of a file that has to be right, but for copies of which another one is."""
    try:
        lines = list(described(kind, file))
    except OSError as error:
        raise StoredError(f"{file} cannot be read: {error.strerror}", ExitStatus.DAMAGED_DATA) from error
    except TooLargeError as error:
        raise StoredError(f"{file}: {error}", ExitStatus.DAMAGED_DATA) from error
    if not lines or "refused" in lines[-1]:
        why = f"{lines[-1]['refused']}: {lines[-1]['reason']}" if lines else "it is empty"
        raise StoredError(f"{file} is refused: {why}", ExitStatus.DAMAGED_DATA)
    return lines
