"""System calls of the shard's thread for each ping of a logged-in client."""

import re
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benches import process
from benches.figures import Figure
from benches.nodes import backends, running
from tests.support.node import Node
from tests.support.raw import RawClient

__all__ = ["measure"]

_WARM_UP: Final = 200
_PINGS: Final = 10_000
_TRACED_PINGS: Final = 2_000

# Share of time, seconds, microseconds a call, calls, errors if any, name.
_TRACE_ROW: Final = re.compile(r"^\s*[\d.]+\s+[\d.]+\s+\d+\s+(?P<calls>\d+)\s+(?:\d+\s+)?(?P<name>[a-z]\w*)$")


def measure() -> Iterator[Figure]:
    """By the server's own count, and by what strace sees."""
    for backend in backends():
        with running(backend) as node, node.connect_registered() as client:
            _ping(client, _WARM_UP)
            yield _counted(node, client, backend)
            yield from _traced(node, client, backend)


def _ping(client: RawClient, times: int) -> None:
    for _ in range(times):
        client.ping()


def _counted(node: Node, client: RawClient, backend: str) -> Figure:
    before = node.counters().total("io_syscalls_total")
    _ping(client, _PINGS)
    calls = node.counters().total("io_syscalls_total") - before
    note = f"{calls:.0f} calls for {_PINGS} pings"
    return Figure(f"system calls of a ping, {backend}", calls / _PINGS, "calls", note)


def _traced(node: Node, client: RawClient, backend: str) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "counts"
        thread = process.shard_thread(node.pid)
        try:
            tracer = subprocess.Popen(
                ["strace", "-c", "-o", output, "-p", str(thread)], stderr=subprocess.PIPE, text=True
            )
        except FileNotFoundError:
            return
        with tracer:
            assert tracer.stderr is not None
            if "attached" not in tracer.stderr.readline():
                # Not allowed here: the server's own count stands alone.
                return
            _ping(client, _TRACED_PINGS)
            tracer.send_signal(signal.SIGINT)
        rows = [found for line in output.read_text().splitlines() if (found := _TRACE_ROW.match(line))]
    calls = {row["name"]: int(row["calls"]) for row in rows if row["name"] != "total"}
    note = ", ".join(f"{name} {count / _TRACED_PINGS:.3f}" for name, count in calls.items())
    name = f"system calls of a ping by strace, {backend}"
    yield Figure(name, sum(calls.values()) / _TRACED_PINGS, "calls", note)
