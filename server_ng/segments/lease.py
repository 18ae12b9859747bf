"""What a lease says: `manifest.json` of a directory of hard links that belong to one reader.

The broker writes it, jobs read it, and both do so here. A lease is a moment of a topic: for each partition
everything that was committed then and not deleted. Its files never change and never shrink; the lease ends
by its directory going.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final, Self

__all__ = [
    "MANIFEST_NAME",
    "VERSION",
    "Lease",
    "LeaseDeniedError",
    "LeaseError",
    "PartitionCut",
    "SegmentCut",
]

MANIFEST_NAME: Final = "manifest.json"
VERSION: Final = 1
_U32_END: Final = 1 << 32
_U64_END: Final = 1 << 64
_MANIFEST_BYTES_MAX: Final = 256 << 20


class LeaseError(Exception):
    """A manifest that is not one, or speaks of what cannot be; the message names the field."""


class LeaseDeniedError(LeaseError):
    """A lease that this user may not read."""


@dataclass(frozen=True, slots=True)
class SegmentCut:
    """A segment as it was at the cut."""

    path: str
    """Below the lease's directory."""
    generation: int
    """0, or which compaction made it."""
    bytes: int
    """Valid ones: batches lie in front of them, and nothing behind them counts."""
    first_offset: int
    """Base offset of its first batch, which names the file."""
    last_offset: int
    messages: int
    """Offsets may have gaps: this follows from no offsets."""
    min_timestamp: int
    """Of its batches, microseconds since the Unix epoch."""
    max_timestamp: int
    digest: str | None
    """Checksum of the footer, 32 digits, which covers that of each MiB; None while it is not sealed."""


@dataclass(frozen=True, slots=True)
class PartitionCut:
    """A partition as it was at the cut."""

    partition: int
    """As clients number it."""
    group_id: str
    """Sixteen digits; minted once, so that a topic made again under the same name never has it."""
    purge_generation: int
    first_offset: int
    """Messages below it were deleted."""
    commit_offset: int | None
    """Of the last committed message; None if there never was one in this purge generation."""
    segments: tuple[SegmentCut, ...]
    """Ascending and apart; together they hold every message from `first_offset` to `commit_offset`."""

    @property
    def end_offset(self) -> int:
        """The offset behind the last message."""
        return self.first_offset if self.commit_offset is None else self.commit_offset + 1

    @property
    def messages(self) -> int:
        """How many there are."""
        return sum(segment.messages for segment in self.segments)


@dataclass(frozen=True, slots=True)
class Lease:
    """One cut of one topic."""

    lease: str
    """Its id, which names the directory."""
    cluster: str
    """Identity of the cluster, 32 digits."""
    stream: str
    topic: str
    cut_at: int
    """Microseconds since the Unix epoch."""
    partitions: tuple[PartitionCut, ...]
    """Ascending."""
    whole: bool = True
    """Whether those are all partitions that the topic had."""

    def encode(self) -> str:
        """The text of the manifest."""
        return json.dumps({"version": VERSION, **asdict(self)}, ensure_ascii=False) + "\n"

    @classmethod
    def decode(cls, text: str | bytes) -> Self:
        """Reads a manifest and holds it against the rules above."""
        try:
            found = json.loads(text)
        except ValueError as error:
            raise LeaseError(f"the manifest is not JSON: {error}") from error
        return cls.of(found)

    @classmethod
    def of(cls, found: object) -> Self:
        """The same for a manifest that was taken from its JSON already."""
        fields = _Fields("manifest", found)
        version = fields.number("version", _U32_END)
        if version != VERSION:
            raise LeaseError(f"manifest: version {version} is not {VERSION}: it comes from another server")
        lease = cls(
            lease=fields.text("lease"),
            cluster=fields.digits("cluster", 32),
            stream=fields.text("stream"),
            topic=fields.text("topic"),
            cut_at=fields.number("cut_at", _U64_END),
            partitions=tuple(_partition(f"partitions[{at}]", each) for at, each in fields.list("partitions")),
            whole=fields.flag("whole"),
        )
        _ascending("partitions", (cut.partition for cut in lease.partitions))
        return lease

    @classmethod
    def read(cls, directory: Path) -> Self:
        """The manifest in a lease's directory."""
        path = directory / MANIFEST_NAME
        try:
            with path.open("rb") as file:
                text = file.read(_MANIFEST_BYTES_MAX + 1)
        except FileNotFoundError as error:
            raise LeaseError(
                f"{directory} is not a lease, or one that has ended: no {MANIFEST_NAME}"
            ) from error
        except PermissionError as error:
            raise LeaseDeniedError(f"{path} may not be read by this user: leases.group may") from error
        except OSError as error:
            raise LeaseError(f"{path} cannot be read: {error.strerror}") from error
        if len(text) > _MANIFEST_BYTES_MAX:
            raise LeaseError(f"{path} is longer than any manifest")
        try:
            return cls.decode(text)
        except LeaseError as error:
            raise LeaseError(f"{path}: {error}") from error


def _partition(where: str, found: object) -> PartitionCut:
    fields = _Fields(where, found)
    cut = PartitionCut(
        partition=fields.number("partition", _U32_END),
        group_id=fields.digits("group_id", 16),
        purge_generation=fields.number("purge_generation", _U64_END),
        first_offset=fields.number("first_offset", _U64_END),
        commit_offset=fields.number_or_none("commit_offset", _U64_END - 1),
        segments=tuple(_segment(f"{where}.segments[{at}]", each) for at, each in fields.list("segments")),
    )
    bounds = [bound for each in cut.segments for bound in (each.first_offset, each.last_offset + 1)]
    if bounds != sorted(bounds):
        raise LeaseError(f"{where}.segments: they are not in order")
    if cut.segments and cut.segments[-1].last_offset != cut.commit_offset:
        raise LeaseError(f"{where}.commit_offset: not the last offset of its last segment")
    if not cut.segments and cut.commit_offset is not None and cut.commit_offset >= cut.first_offset:
        raise LeaseError(f"{where}.segments: none holds the messages up to the commit offset")
    return cut


def _segment(where: str, found: object) -> SegmentCut:
    fields = _Fields(where, found)
    cut = SegmentCut(
        path=fields.text("path"),
        generation=fields.number("generation", _U32_END),
        bytes=fields.number("bytes", _U64_END),
        first_offset=fields.number("first_offset", _U64_END - 1),
        last_offset=fields.number("last_offset", _U64_END - 1),
        messages=fields.number("messages", _U32_END),
        min_timestamp=fields.number("min_timestamp", _U64_END),
        max_timestamp=fields.number("max_timestamp", _U64_END),
        digest=None if fields.is_none("digest") else fields.digits("digest", 32),
    )
    path = PurePosixPath(cut.path)
    if path.is_absolute() or ".." in path.parts or "\0" in cut.path:
        raise LeaseError(f"{where}.path: {cut.path!r} leads out of the lease")
    if cut.last_offset < cut.first_offset or cut.max_timestamp < cut.min_timestamp:
        raise LeaseError(f"{where}: ends before it begins")
    if not 0 < cut.messages <= cut.last_offset - cut.first_offset + 1 or not cut.bytes:
        raise LeaseError(
            f"{where}.messages: {cut.messages} in {cut.bytes} bytes are not those of its offsets"
        )
    return cut


def _ascending(where: str, numbers: Iterable[int]) -> None:
    last = -1
    for number in numbers:
        if number <= last:
            raise LeaseError(f"{where}: {number} comes after {last}")
        last = number


class _Fields:
    """An object of the manifest, each refusal naming the field."""

    def __init__(self, where: str, found: object) -> None:
        if not isinstance(found, Mapping):
            raise LeaseError(f"{where}: not an object")
        self._where, self._found = where, found

    def _value(self, name: str) -> Any:
        try:
            return self._found[name]
        except KeyError:
            raise LeaseError(f"{self._where}.{name}: it is missing") from None

    def is_none(self, name: str) -> bool:
        return self._value(name) is None

    def flag(self, name: str) -> bool:
        value = self._value(name)
        if not isinstance(value, bool):
            raise LeaseError(f"{self._where}.{name}: {value!r} is neither true nor false")
        return value

    def number(self, name: str, end: int) -> int:
        value = self._value(name)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < end:
            raise LeaseError(f"{self._where}.{name}: {value!r} is not a number below {end}")
        return value

    def number_or_none(self, name: str, end: int) -> int | None:
        return None if self.is_none(name) else self.number(name, end)

    def text(self, name: str) -> str:
        value = self._value(name)
        if not isinstance(value, str) or not value:
            raise LeaseError(f"{self._where}.{name}: {value!r} is not a text")
        return value

    def digits(self, name: str, count: int) -> str:
        value = self.text(name)
        if len(value) != count or not set(value) <= set("0123456789abcdef"):
            raise LeaseError(f"{self._where}.{name}: {value!r} is not {count} hexadecimal digits")
        return value

    def list(self, name: str) -> Iterable[tuple[int, object]]:
        value = self._value(name)
        if not isinstance(value, list):
            raise LeaseError(f"{self._where}.{name}: not a list")
        return enumerate(value)
