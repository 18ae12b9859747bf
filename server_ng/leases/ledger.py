"""Which leases there are, what they hold, and when they end: a value without files or a clock."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from server_ng.leases.errors import LeaseRefusedError, Refusal
from server_ng.segments.lease import Lease

__all__ = ["Held", "Ledger"]


@dataclass(slots=True)
class Held:
    """One lease."""

    lease: Lease
    expires: int
    """Microseconds since the Unix epoch."""
    bytes: int
    shared: bool = False
    """Whether it was made for whoever reads the same; a start forgets that."""


_File: TypeAlias = tuple[str, int, str]
"""Group, purge generation and name of a segment."""


class Ledger:
    """Every lease by its id."""

    def __init__(self) -> None:
        self._held: dict[str, Held] = {}
        self._sizes: dict[_File, dict[str, int]] = {}
        """What each lease has of a segment: one that is still written to is longer in a later cut."""
        self.bytes = 0
        """Of the segments that some lease has, each once."""

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[Held]:
        return iter(self._held.values())

    def __contains__(self, lease: str) -> bool:
        return lease in self._held

    def get(self, lease: str) -> Held:
        """A lease; raises `LeaseRefusedError`."""
        try:
            return self._held[lease]
        except KeyError:
            raise LeaseRefusedError(
                Refusal.UNKNOWN_LEASE, f"There is no lease {lease!r}, or it has ended."
            ) from None

    def bytes_with(self, lease: Lease) -> int:
        """What all would hold with one more."""
        more = (max(0, size - self._size(file)) for file, size in _segments(lease))
        return self.bytes + sum(more)

    def same(self, lease: Lease) -> Held | None:
        """A shared lease of exactly what another one holds."""
        wanted = (lease.stream, lease.topic, lease.partitions)
        for held in self:
            if held.shared and (held.lease.stream, held.lease.topic, held.lease.partitions) == wanted:
                return held
        return None

    def add(self, lease: Lease, expires: int, *, shared: bool = False) -> None:
        """Takes a lease in."""
        self.bytes = self.bytes_with(lease)
        held = 0
        for file, size in _segments(lease):
            held += size
            self._sizes.setdefault(file, {})[lease.lease] = size
        self._held[lease.lease] = Held(lease, expires, held, shared)

    def remove(self, name: str) -> None:
        """Forgets a lease; one that is forgotten already stays so."""
        held = self._held.pop(name, None)
        if held is None:
            return
        for file, _ in _segments(held.lease):
            before = self._size(file)
            del self._sizes[file][name]
            self.bytes -= before - self._size(file)
            if not self._sizes[file]:
                del self._sizes[file]

    def _size(self, file: _File) -> int:
        return max(self._sizes.get(file, {}).values(), default=0)

    def expired(self, now: int) -> list[str]:
        """Those whose time is over."""
        return [held.lease.lease for held in self if held.expires <= now]

    def has_expired(self, name: str, now: int) -> bool:
        """Whether a lease is there still and its time is over."""
        held = self._held.get(name)
        return held is not None and held.expires <= now

    def next_expiry(self) -> int | None:
        """When the next one ends."""
        return min((held.expires for held in self), default=None)


def _segments(lease: Lease) -> Iterator[tuple[_File, int]]:
    for partition in lease.partitions:
        for segment in partition.segments:
            name = segment.path.rpartition("/")[2]
            yield (partition.group_id, partition.purge_generation, name), segment.bytes
