"""Cuts of single partitions, and segments for them, asked of the shards that own them."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from server_ng.engine.records import Adopted, Cut, encode_adopt, encode_cut
from server_ng.leases.errors import LeaseRefusedError, Refusal
from server_ng.wire.cuts import CutSegment
from server_ng.wire.tables import AdoptionEnd, CutEnd

__all__ = ["Contents", "ShardAdoptions", "ShardCuts"]


@dataclass(frozen=True, slots=True)
class Contents:
    """What a cut of a partition contains."""

    purge_generation: int
    commit_offset: int | None
    segments: tuple[CutSegment, ...]


@dataclass(slots=True)
class _Waiting:
    done: asyncio.Future[Contents]
    segments: list[CutSegment] = field(default_factory=list)


class ShardCuts:
    """Orders under way. Each is one record to a shard, and what it says under the same token."""

    def __init__(self, send: Callable[[bytes], None], owner: Callable[[int], int]) -> None:
        """`owner` says which shard a group is on."""
        self._send = send
        self._owner = owner
        self._tokens = 0
        self._waiting: dict[int, _Waiting] = {}
        self._closed = False

    async def cut(self, group: int, directory: Path) -> Contents:
        """Names the segments of a group in a directory; raises `LeaseRefusedError`."""
        if self._closed:
            raise _stopping()
        self._tokens += 1
        token = self._tokens
        waiting = _Waiting(asyncio.get_running_loop().create_future())
        self._waiting[token] = waiting
        self._send(encode_cut(self._owner(group), token, group, str(directory)))
        try:
            return await waiting.done
        finally:
            # Nobody waits for what is still said under it.
            self._waiting.pop(token, None)

    def take(self, cut: Cut) -> None:
        """Takes a piece of what a shard says."""
        waiting = self._waiting.get(cut.token)
        if waiting is None or waiting.done.done():
            return
        waiting.segments.extend(cut.segments)
        if not cut.last:
            return
        match cut.end:
            case CutEnd.DONE:
                segments = tuple(waiting.segments)
                waiting.done.set_result(Contents(cut.purge_generation, cut.commit_offset, segments))
            case CutEnd.BUSY:
                message = "A partition is only just beginning. Try again."
                waiting.done.set_exception(LeaseRefusedError(Refusal.BUSY, message))
            case CutEnd.NO_GROUP:
                message = "The partition is being deleted."
                waiting.done.set_exception(LeaseRefusedError(Refusal.UNKNOWN_PARTITION, message))
            case CutEnd.FULL:
                message = (
                    f"What the partition holds cannot be written out: {cut.why}. Make room, then try again."
                )
                waiting.done.set_exception(LeaseRefusedError(Refusal.BUSY, message))
            case CutEnd.FAILED:
                message = f"The partition cannot be cut: {cut.why}."
                waiting.done.set_exception(LeaseRefusedError(Refusal.FAILED, message))

    def close(self) -> None:
        """Nothing more is said: who waits, or still asks, is told so."""
        self._closed = True
        for waiting in self._waiting.values():
            if not waiting.done.done():
                waiting.done.set_exception(_stopping())


class ShardAdoptions:
    """Adoptions under way. Each is one record to a shard, and one back."""

    def __init__(self, send: Callable[[bytes], None], owner: Callable[[int], int]) -> None:
        """`owner` says which shard a group is on."""
        self._send = send
        self._owner = owner
        self._tokens = 0
        self._waiting: dict[int, asyncio.Future[None]] = {}
        self._closed = False

    async def adopt(self, group: int, swap: bytes, directory: Path) -> None:
        """Lets files take the place of segments of a group; raises `LeaseRefusedError`."""
        if self._closed:
            raise _stopping()
        self._tokens += 1
        token = self._tokens
        done = asyncio.get_running_loop().create_future()
        self._waiting[token] = done
        self._send(encode_adopt(self._owner(group), token, group, swap, str(directory)))
        try:
            await done
        finally:
            self._waiting.pop(token, None)

    def take(self, adopted: Adopted) -> None:
        """Takes what a shard says."""
        done = self._waiting.get(adopted.token)
        if done is None or done.done():
            return
        if adopted.end is AdoptionEnd.DONE:
            done.set_result(None)
        else:
            done.set_exception(_refused(adopted))

    def close(self) -> None:
        """Nothing more is said: who waits, or still asks, is told so."""
        self._closed = True
        for done in self._waiting.values():
            if not done.done():
                done.set_exception(_stopping())


def _stopping() -> LeaseRefusedError:
    return LeaseRefusedError(Refusal.STOPPING, "The server is stopping.")


def _refused(adopted: Adopted) -> LeaseRefusedError:
    match adopted.end:
        case AdoptionEnd.FENCED:
            return LeaseRefusedError(
                Refusal.FENCED,
                "Segments that were to be replaced are gone, or were replaced before. Nothing has changed.",
            )
        case AdoptionEnd.CLUSTER:
            return LeaseRefusedError(
                Refusal.CLUSTER,
                "Other nodes have this partition, too, and not these files: a cluster adopts no segments.",
            )
        case AdoptionEnd.NO_GROUP:
            return LeaseRefusedError(Refusal.FENCED, "The partition is gone. Nothing has changed.")
        case AdoptionEnd.UNSOUND:
            return LeaseRefusedError(Refusal.BAD_OUTPUT, "The segments contradict each other.")
        case AdoptionEnd.FAILED:
            return LeaseRefusedError(Refusal.FAILED, f"The segments cannot be adopted: {adopted.why}.")
        case _:
            return LeaseRefusedError(
                Refusal.BUSY,
                "The partition just begins, adopts other segments already, or its disk is full. Try again.",
            )
