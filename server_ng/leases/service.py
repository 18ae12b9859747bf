"""What becomes of a job's request: leases are made, renewed, ended and told of, segments adopted."""

import asyncio
import secrets
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import structlog

from server_ng.leases import adoption, verification
from server_ng.leases.access import NOBODY_ELSE, Access
from server_ng.leases.errors import LeaseRefusedError, Refusal
from server_ng.leases.files import LeaseFiles
from server_ng.leases.ledger import Held, Ledger
from server_ng.leases.requests import AdoptSegments, CutTopic, ListLeases, Release, Renew, Request
from server_ng.leases.shards import Contents, ShardAdoptions, ShardCuts
from server_ng.segments.lease import Lease, PartitionCut, SegmentCut

__all__ = ["Leases", "Limits", "Place", "Topic"]

_log = structlog.get_logger()

# Partitions of a topic that are cut at a time: the shards serve clients beside it.
_PARTITIONS_AT_ONCE: Final = 64
_CUTS_AT_ONCE: Final = 4
# Whose files are looked at, at a time: each takes a thread and the disk.
_ADOPTIONS_AT_ONCE: Final = 2
# Between two tries to remove what is left of a lease.
_AGAIN_SECONDS: Final = 10.0
_MICROS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Place:
    """A partition and the group that has its log."""

    partition: int
    group: int


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic as the metadata know it."""

    stream: str
    name: str
    places: Sequence[Place]


@dataclass(frozen=True, slots=True)
class Limits:
    """How much leases may take."""

    ttl_max: float
    """Seconds."""
    count_max: int
    bytes_max: int
    cut_timeout: float
    """Seconds."""


@dataclass(slots=True)
class Tally:
    """What was done since the start."""

    made: int = 0
    refused: int = 0
    expired: int = 0
    adopted: int = 0
    """Segments that took the place of others."""
    not_adopted: Counter[str] = field(default_factory=Counter)
    """Requests to adopt that were refused, by kind."""


@dataclass(slots=True)
class Leases:
    """The leases of a node."""

    root: Path
    limits: Limits
    cluster: Callable[[], str]
    """Identity of the cluster, 32 digits."""
    find: Callable[[str | int, str | int], Topic]
    """A topic of the metadata; raises `LeaseRefusedError`."""
    cuts: ShardCuts
    adoptions: ShardAdoptions
    clock: Callable[[], int]
    """Microseconds since the Unix epoch."""
    access: Access = NOBODY_ELSE
    tally: Tally = field(default_factory=Tally)
    ledger: Ledger = field(default_factory=Ledger)
    _files: LeaseFiles = field(init=False)
    _under_way: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_CUTS_AT_ONCE))
    _verifying: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_ADOPTIONS_AT_ONCE))
    _adopting: set[int] = field(default_factory=set)
    """Groups that have an adoption under way."""
    _adoptions_of: dict[AdoptSegments, asyncio.Task[None]] = field(default_factory=dict)
    """Under way, or done, of the leases that there are."""
    _left: set[str] = field(default_factory=set)
    """Ended ones whose files could not be removed yet."""
    _making: int = 0
    _booking: asyncio.Lock = field(default_factory=asyncio.Lock)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self._files = LeaseFiles(self.root, self.access)

    async def load(self) -> None:
        """Takes up what a run before this one left: leases go on, and what is not whole is removed."""
        now = self.clock()
        for name, lease, expires in list(self._files.found()):
            if lease is not None and lease.lease == name and expires > now:
                self.ledger.add(lease, expires)
            else:
                await self._clear(name)

    async def expire(self) -> None:
        """Ends leases whose time is over, for ever."""
        while True:
            self._changed.clear()
            for name in sorted(self._left):
                await self._clear(name)
            for name in self.ledger.expired(self.clock()):
                # While another one was removed, this one may have been renewed or released.
                if not self.ledger.has_expired(name, self.clock()):
                    continue
                self.tally.expired += 1
                _log.info("lease_expired", lease=name)
                await self._remove(name)
            # Not wait_for: that of Python 3.11 forgets a cancellation that comes with the event.
            with suppress(TimeoutError):
                async with asyncio.timeout(self._patience()):
                    await self._changed.wait()

    def _patience(self) -> float | None:
        """Seconds until there is something to end; None for ever."""
        again = _AGAIN_SECONDS if self._left else None
        next_expiry = self.ledger.next_expiry()
        if next_expiry is None:
            return again
        wait = max(0.01, (next_expiry - self.clock()) / _MICROS)
        return wait if again is None else min(wait, again)

    async def serve(self, request: Request) -> dict[str, Any]:
        """Does what is asked; raises `LeaseRefusedError`."""
        match request:
            case CutTopic():
                return self._told(await self._cut(request))
            case Renew(name, ttl):
                return {"lease": name, "expires": await self._renew(name, ttl)}
            case Release(name):
                self.ledger.get(name)
                await self._remove(name)
                return {"lease": name}
            case AdoptSegments():
                return await self._adopt_or_count(request)
            case ListLeases():
                return {"leases": [_summary(held) for held in self.ledger], "bytes": self.ledger.bytes}

    async def _adopt_or_count(self, request: AdoptSegments) -> dict[str, Any]:
        try:
            found = adoption.plan(self.ledger.get(request.lease).lease, request)
            await self._adopt_once(request, found)
        except LeaseRefusedError as error:
            self.tally.not_adopted[error.kind.value] += 1
            raise
        return {"partition": found.partition, "generation": found.generation}

    async def _adopt_once(self, request: AdoptSegments, found: adoption.Adoption) -> None:
        """Waits for a while; a job that asks again finds what it asked for before, under way or done."""
        task = self._adoptions_of.get(request)
        if task is None:
            task = asyncio.create_task(self._adopt(request, found), name=f"adopts-{request.lease}")
            self._adoptions_of[request] = task
            task.add_done_callback(lambda task: self._adopted(request, found, task))
        done, _ = await asyncio.wait([task], timeout=self.limits.cut_timeout)
        if not done:
            raise LeaseRefusedError(
                Refusal.BUSY,
                f"The segments were not in force within {self.limits.cut_timeout:g} s (leases.cut_timeout): "
                "the disk is slow or full. They may be in force later: ask again to see.",
            )
        task.result()

    def _adopted(self, request: AdoptSegments, found: adoption.Adoption, task: "asyncio.Task[None]") -> None:
        failed = task.cancelled() or task.exception() is not None
        if not failed:
            self.tally.adopted += len(found.replacements)
        if failed or request.lease not in self.ledger:
            del self._adoptions_of[request]

    async def _adopt(self, request: AdoptSegments, found: adoption.Adoption) -> None:
        if found.group in self._adopting:
            raise LeaseRefusedError(
                Refusal.BUSY, f"Partition {found.partition} is adopting other segments. Try again."
            )
        self._adopting.add(found.group)
        path = self._files.path(request.lease)
        try:
            async with self._verifying:
                await verification.verify(path, found)
            directory = path / "outputs" / str(found.partition)
            await self.adoptions.adopt(found.group, found.swap(), directory)
        except OSError as error:
            raise LeaseRefusedError(
                Refusal.BAD_OUTPUT, f"{error.filename or 'A file'} cannot be read: {error.strerror}."
            ) from error
        finally:
            self._adopting.discard(found.group)

    def _told(self, lease: Lease) -> dict[str, Any]:
        return {
            "lease": lease.lease,
            "path": str(self._files.path(lease.lease)),
            "expires": self.ledger.get(lease.lease).expires,
            "manifest": {"version": 1, **asdict(lease)},
        }

    def _expiry(self, ttl: float) -> int:
        if ttl > self.limits.ttl_max:
            raise LeaseRefusedError(
                Refusal.BAD_REQUEST,
                f"A lease lasts {self.limits.ttl_max:g} s at most (leases.ttl_max), not {ttl:g}: renew it.",
            )
        return self.clock() + int(ttl * _MICROS)

    async def _renew(self, name: str, ttl: float, least: int = 0) -> int:
        self.ledger.get(name)
        expires = max(self._expiry(ttl), least)
        try:
            await self._files.expire_at(name, expires)
        except OSError as error:
            # Where it has ended meanwhile, that is the reason.
            self.ledger.get(name)
            raise _unwritten(error) from error
        self.ledger.get(name).expires = expires
        self._changed.set()
        return expires

    async def _cut(self, request: CutTopic) -> Lease:
        self._expiry(request.ttl)
        topic = self.find(request.stream, request.topic)
        places = _chosen(topic, request.partitions)
        if len(self.ledger) + self._making >= self.limits.count_max:
            raise LeaseRefusedError(
                Refusal.BUDGET,
                f"There are {len(self.ledger)} leases, as many as leases.count_max allows. Release one.",
            )
        self._making += 1
        try:
            async with self._under_way:
                return await self._make(request, topic, places)
        finally:
            self._making -= 1

    async def _make(self, request: CutTopic, topic: Topic, places: Sequence[Place]) -> Lease:
        name = f"{self.clock():x}-{secrets.token_hex(4)}"
        try:
            async with asyncio.timeout(self.limits.cut_timeout):
                lease = await self._fill(name, topic, places)
            # What others write meanwhile is part of the sum.
            async with self._booking:
                same = self.ledger.same(lease) if request.shared else None
                if same is not None:
                    await self._renew(same.lease.lease, request.ttl, least=same.expires)
                    await self._clear(name)
                    return same.lease
                self._check_budget(lease)
                expires = self._expiry(request.ttl)
                await self._files.write(lease, expires)
                self.ledger.add(lease, expires, shared=request.shared)
        except TimeoutError:
            await self._clear(name)
            raise LeaseRefusedError(
                Refusal.BUSY,
                f"The partitions were not written out within {self.limits.cut_timeout:g} s "
                "(leases.cut_timeout): the disk is slow or full. Try again.",
            ) from None
        except OSError as error:
            await self._clear(name)
            raise _unwritten(error) from error
        except BaseException:
            await self._clear(name)
            raise
        self.tally.made += 1
        self._changed.set()
        return lease

    async def _fill(self, name: str, topic: Topic, places: Sequence[Place]) -> Lease:
        directories = await self._files.make(name, (place.group for place in places))
        contents: list[Contents] = []
        for start in range(0, len(places), _PARTITIONS_AT_ONCE):
            orders = [
                self.cuts.cut(place.group, directories[place.group])
                for place in places[start : start + _PARTITIONS_AT_ONCE]
            ]
            for answer in await asyncio.gather(*orders, return_exceptions=True):
                if isinstance(answer, BaseException):
                    raise answer
                contents.append(answer)
        return Lease(
            lease=name,
            cluster=self.cluster(),
            stream=topic.stream,
            topic=topic.name,
            cut_at=self.clock(),
            partitions=tuple(map(_partition, places, contents)),
            whole=len(places) == len(topic.places),
        )

    def _check_budget(self, lease: Lease) -> None:
        total = self.ledger.bytes_with(lease)
        if total > self.limits.bytes_max:
            raise LeaseRefusedError(
                Refusal.BUDGET,
                f"All leases would hold {total} bytes, and {self.limits.bytes_max} are allowed "
                "(leases.bytes_max). Release one, or ask for fewer partitions.",
            )

    async def _remove(self, name: str) -> None:
        self.ledger.remove(name)
        for request, task in list(self._adoptions_of.items()):
            if request.lease == name and task.done():
                del self._adoptions_of[request]
        self._changed.set()
        await self._clear(name)

    async def _clear(self, name: str) -> None:
        """What cannot be removed now is tried again: a shard or a job may have put a file there meanwhile."""
        try:
            await self._files.remove(name)
        except OSError as error:
            if not self._files.path(name).exists():
                # Somebody else removed it at the same time.
                self._left.discard(name)
            elif name not in self._left:
                _log.warning("lease_not_removed", lease=name, reason=error.strerror)
                self._left.add(name)
                self._changed.set()
        else:
            self._left.discard(name)


def _unwritten(error: OSError) -> LeaseRefusedError:
    return LeaseRefusedError(
        Refusal.FAILED, f"{error.filename or 'The lease'} cannot be written: {error.strerror}."
    )


def _chosen(topic: Topic, partitions: frozenset[int] | None) -> Sequence[Place]:
    if partitions is None:
        return topic.places
    missing = partitions - {place.partition for place in topic.places}
    if missing:
        raise LeaseRefusedError(
            Refusal.UNKNOWN_PARTITION,
            f"{topic.stream}/{topic.name} has no partition {min(missing)}; it has {len(topic.places)}.",
        )
    return [place for place in topic.places if place.partition in partitions]


def _partition(place: Place, contents: Contents) -> PartitionCut:
    directory = f"{place.group:016x}"
    segments = tuple(
        SegmentCut(
            path=f"{directory}/{segment.file_name()}",
            generation=segment.generation,
            bytes=segment.bytes,
            first_offset=segment.first_offset,
            last_offset=segment.last_offset,
            messages=segment.messages,
            min_timestamp=segment.min_timestamp,
            max_timestamp=segment.max_timestamp,
            digest=f"{segment.footer:032x}" if segment.footer else None,
        )
        for segment in contents.segments
    )
    behind = 0 if contents.commit_offset is None else contents.commit_offset + 1
    return PartitionCut(
        partition=place.partition,
        group_id=directory,
        purge_generation=contents.purge_generation,
        first_offset=segments[0].first_offset if segments else behind,
        commit_offset=contents.commit_offset,
        segments=segments,
    )


def _summary(held: Held) -> dict[str, Any]:
    lease = held.lease
    return {
        "lease": lease.lease,
        "stream": lease.stream,
        "topic": lease.topic,
        "partitions": len(lease.partitions),
        "messages": sum(cut.messages for cut in lease.partitions),
        "bytes": held.bytes,
        "cut_at": lease.cut_at,
        "expires": held.expires,
    }
