"""What a server costs that nobody uses: its start, its memory, its CPU."""

import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from typing import Final

from benches import process
from benches.figures import Figure
from benches.nodes import backends, node, running
from benches.programs import program
from tests.support.node import Node

__all__ = ["measure", "measure_memory"]

_MIB: Final = 2**20
_STARTS: Final = 5
_LOGINS: Final = 100
_GROUPS: Final = 100_000
_IDLE_SECONDS: Final = 10.0


def measure() -> Iterator[Figure]:
    """Start, memory and idle CPU."""
    yield _idle_group()
    yield Figure("start to READY", statistics.median(_starts()), "ms", f"median of {_STARTS} starts")
    for backend in backends():
        with running(backend) as server:
            yield from _memory(server, backend)
            yield _idle_cpu(server, backend)


def _idle_group() -> Figure:
    """Of many in one log, without the rest of a server."""
    with tempfile.TemporaryDirectory() as folder:
        command = [str(program("ng-shard", "idle_groups")), folder, str(_GROUPS)]
        said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    return Figure("memory of an idle group", int(said), "bytes", f"of {_GROUPS:,} in one log")


def measure_memory() -> Iterator[Figure]:
    """Memory alone."""
    for backend in backends():
        with running(backend) as server:
            yield from _memory(server, backend)


def _starts() -> Iterator[float]:
    """Milliseconds of each start; the one that may compile bytecode is left out."""
    with node() as server:
        for start in range(_STARTS + 1):
            began = time.monotonic()
            server.start()
            took = time.monotonic() - began
            server.terminate()
            if start > 0:
                yield took * 1_000


def _memory(server: Node, backend: str) -> Iterator[Figure]:
    yield Figure(f"idle RSS, {backend}", process.rss(server.pid) / _MIB, "MiB", "at READY")
    # Each password is another one and none is right: every login costs a hash, and two are always at work.
    clients = [server.connect() for _ in range(_LOGINS)]
    for number, client in enumerate(clients):
        client.send_login(password=f"not the password {number}")
    for client in clients:
        client.read_login()
    server.wait_for_count(_LOGINS, "logins_total", outcome="refused")
    for client in clients:
        client.close()
    peak = process.peak_rss(server.pid) / _MIB
    after = process.rss(server.pid) / _MIB
    yield Figure(f"idle RSS after {_LOGINS} logins, {backend}", after, "MiB", f"at the peak {peak:.1f} MiB")


def _idle_cpu(server: Node, backend: str) -> Figure:
    before = process.cpu_nanos(server.pid)
    time.sleep(_IDLE_SECONDS)
    used = process.cpu_nanos(server.pid) - before
    share = 100 * used / (_IDLE_SECONDS * 1e9)
    return Figure(f"idle CPU, {backend}", share, "% of a core", f"over {_IDLE_SECONDS:g} s")
