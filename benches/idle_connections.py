"""Memory of a logged-in connection that does nothing."""

import contextlib
import resource
import subprocess
import sys
from collections.abc import Iterator
from typing import Final

from benches import process
from benches.figures import Figure
from benches.machine import ROOT
from benches.nodes import backends, running
from tests.support.node import Node

__all__ = ["measure"]

_WANTED: Final = 10_000
# Of either process, for everything that is not a connection.
_OTHER_DESCRIPTORS: Final = 256


def measure() -> Iterator[Figure]:
    """Bytes for each connection, on each backend."""
    count = _affordable()
    for backend in backends():
        with running(backend) as node:
            yield _bytes_per_connection(node, backend, count)


def _affordable() -> int:
    """As many connections as the limit of descriptors allows, once it is as high as it goes."""
    wanted = _WANTED + _OTHER_DESCRIPTORS
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < wanted:
        # Root may; for others the hard limit is what there is.
        with contextlib.suppress(ValueError, PermissionError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, wanted))
            hard = wanted
    return min(_WANTED, hard - _OTHER_DESCRIPTORS)


def _bytes_per_connection(node: Node, backend: str, count: int) -> Figure:
    # The first login brings what all logins share.
    node.connect_registered().close()
    node.wait_for_count(0, "connections_open")
    before = process.rss(node.pid)
    host, port = node.address
    command = [sys.executable, "-m", "benches.idle_clients", host, str(port), str(count)]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as clients:
        assert clients.stdin is not None
        assert clients.stdout is not None
        try:
            clients.stdout.readline()
            sessions = node.counters().total("sessions_open")
            after = process.rss(node.pid)
        finally:
            clients.stdin.close()
    if sessions != count:
        raise RuntimeError(f"{sessions:g} sessions are open instead of {count}")
    name = f"RSS of an idle session, {backend}"
    return Figure(name, (after - before) / count / 1024, "KiB", f"with {count} sessions")
