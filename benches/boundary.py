"""What a call into the native library costs, next to a call that stays in Python."""

import tempfile
import timeit
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from benches.figures import Figure
from server_ng import binding
from tests.support.engines import open_handle

__all__ = ["measure"]

_CALLS: Final = 50_000
_REPEATS: Final = 7


def measure() -> Iterator[Figure]:
    """A call that does next to nothing, and a drain that finds nothing."""
    with tempfile.TemporaryDirectory() as folder:
        handle = open_handle(Path(folder), frame_bytes_max=64 << 20, inbox_capacity=1024)
        try:
            plain = _nanos(lambda: _stay(handle))
            look = _nanos(lambda: binding.notify_fd(handle))
            drain = _nanos(lambda: binding.drain(handle))
        finally:
            binding.close(handle)
    yield Figure("native call / Python call", look / plain, "x", f"{look:.0f} ns / {plain:.0f} ns")
    yield Figure("drain of nothing / Python call", drain / plain, "x", f"{drain:.0f} ns / {plain:.0f} ns")


def _stay(handle: int) -> int:
    return handle


def _nanos(call: Callable[[], object]) -> float:
    """Of one call, in the quietest of several runs; what the loop itself costs is in every figure."""
    return min(timeit.repeat(call, number=_CALLS, repeat=_REPEATS)) / _CALLS * 1e9
