"""The memory budget: one number, divided among all that grows with data and clients."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Final

import structlog

from server_ng.bootstrap.errors import StartError
from server_ng.bootstrap.memory import MemoryLimit
from server_ng.config import Loaded, Settings
from server_ng.config.layers import DEFAULT_ORIGIN
from server_ng.config.size import format_size

__all__ = ["MemoryPlan", "Reduced", "ShardMemory", "budget_bytes", "divide", "plan_memory"]

_log = structlog.get_logger()

_MIB: Final = 1 << 20
# The rest is for the interpreter, password hashes, one largest frame on its way, and what the kernel charges
# to the control group: files in its cache and, in version 2, buffers of sockets.
_PART_OF_LIMIT: Final = 4
_AUTOMATIC_MAX: Final = 4 << 30
_BESIDE: Final = 160 * _MIB
"""For interpreter, native code and password hashes."""
_SEND_BUFFER_MIN: Final = 64 << 10
"""Smaller ones would slow every client down."""
_SILENT_CLIENTS: Final = 100
"""So many clients that do not read are to be survived."""

_SIXTEENTHS: Final = 16
_POLL_CACHE, _POLL_READS, _REPLIES, _UNFLUSHED, _CONNECTIONS, _SPARES = 3, 2, 4, 4, 2, 1
# More of these makes no shard faster.
_POLL_READS_MAX: Final = 256 * _MIB
_REPLIES_MAX: Final = 512 * _MIB
_CONNECTIONS_MAX: Final = 256 * _MIB
_SPARES_MAX: Final = 64 * _MIB
# A shard gives one reply at most this part of its replies.
_PARTS_OF_REPLIES: Final = 4


@dataclass(frozen=True, slots=True)
class ShardMemory:
    """Bytes that each shard may have, by part."""

    poll_cache: int
    poll_reads: int
    replies: int
    unflushed: int
    connections: int
    spares: int

    @property
    def total(self) -> int:
        """All parts together."""
        return sum(asdict(self).values())


@dataclass(frozen=True, slots=True)
class Reduced:
    """A setting that asks for more than its part of the budget."""

    key: str
    configured: int
    effective: int


def budget_bytes(limit: MemoryLimit, wanted: int) -> int:
    """The whole budget: what is set, or a quarter of the limit up to 4 GiB."""
    if wanted == 0:
        return min(limit.bytes // _PART_OF_LIMIT, _AUTOMATIC_MAX)
    if wanted > limit.bytes:
        raise StartError(
            f"memory.budget is {format_size(wanted)}, and this process may use {format_size(limit.bytes)} "
            f"({limit.source}). Lower memory.budget, or raise that limit."
        )
    return wanted


def divide(budget: int, shards: int, settings: Settings) -> ShardMemory:
    """The parts of one shard. Those of all shards together never exceed the budget."""

    def part(sixteenths: int, at_most: int) -> int:
        return min(budget * sixteenths // (_SIXTEENTHS * shards), at_most)

    return ShardMemory(
        poll_cache=part(_POLL_CACHE, settings.poll.cache_bytes_max // shards),
        poll_reads=part(_POLL_READS, _POLL_READS_MAX),
        replies=part(_REPLIES, _REPLIES_MAX),
        unflushed=part(_UNFLUSHED, settings.partition.unflushed_bytes_max),
        connections=part(_CONNECTIONS, _CONNECTIONS_MAX),
        spares=part(_SPARES, _SPARES_MAX),
    )


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """A budget, where it comes from, and its parts."""

    limit: MemoryLimit
    budget: int
    shards: int
    each: ShardMemory
    send_buffer: int
    """Bytes that the kernel buffers at most for a client."""

    def send_buffer_fitting(self) -> int | None:
        """The largest send buffer with which silent clients stay below the limit; None if the kernel's is."""
        if not self.limit.has_sockets:
            return None
        left = max(0, self.limit.bytes - self.budget - _BESIDE)
        fitting = max(left // _SILENT_CLIENTS, _SEND_BUFFER_MIN)
        return fitting if self.send_buffer > fitting else None

    def reduces(self, settings: Settings) -> Iterator[Reduced]:
        """The settings that ask for more than the budget has for them."""
        cache = settings.poll.cache_bytes_max // self.shards * self.shards
        asked = {
            "poll.cache_bytes_max": (cache, self.each.poll_cache * self.shards),
            "partition.unflushed_bytes_max": (settings.partition.unflushed_bytes_max, self.each.unflushed),
            "poll.reply_bytes_max": (settings.poll.reply_bytes_max, self.each.replies // _PARTS_OF_REPLIES),
        }
        for key, (configured, effective) in asked.items():
            if configured > effective:
                yield Reduced(key, configured, effective)

    def tell(self, loaded: Loaded) -> None:
        """Logs the budget, and warns of settings that an operator made and that exceed it."""
        parts = {name: of_one * self.shards for name, of_one in asdict(self.each).items()}
        limit, source = self.limit.bytes, self.limit.source
        _log.info(
            "memory_budget", budget_bytes=self.budget, limit_bytes=limit, limit_source=source, parts=parts
        )
        fitting = self.send_buffer_fitting()
        if fitting is not None:
            _log.warning(
                "socket_buffers_above_limit",
                send_buffer_bytes=self.send_buffer,
                fitting_bytes=fitting,
                limit_bytes=limit,
                limit_source=source,
                remedy=f"Set the third number of net.ipv4.tcp_wmem to {fitting} or less in the server's "
                f"network namespace, or raise the limit: {_SILENT_CLIENTS} clients that do not read can "
                "fill it.",
            )
        for reduced in self.reduces(loaded.settings):
            if loaded.origins[reduced.key] != DEFAULT_ORIGIN:
                _log.warning(
                    "setting_above_memory_budget",
                    key=reduced.key,
                    configured_bytes=reduced.configured,
                    effective_bytes=reduced.effective,
                    remedy="Lower the setting, raise memory.budget, or give the process more memory.",
                )


def plan_memory(settings: Settings, limit: MemoryLimit, shards: int, send_buffer: int) -> MemoryPlan:
    """The budget below a limit, and what each shard may have of it."""
    budget = budget_bytes(limit, settings.memory.budget)
    return MemoryPlan(limit, budget, shards, divide(budget, shards, settings), send_buffer)
