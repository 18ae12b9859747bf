"""Servers to be measured, on each backend that the machine has."""

import contextlib
import io
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benches.machine import ROOT
from server_ng import binding
from tests.support.node import Node, Plan

__all__ = ["backends", "node", "running"]


def backends() -> tuple[str, ...]:
    """The backends of this machine."""
    ring = binding.probe(ROOT)["io_uring"] == "available"
    return ("posix", "uring") if ring else ("posix",)


@contextlib.contextmanager
def node(backend: str = "auto") -> Iterator[Node]:
    """A server that is not running yet."""
    with tempfile.TemporaryDirectory() as folder:
        made = Node(Path(folder), Plan(settings={"system.io.backend": backend}))
        try:
            yield made
        finally:
            # A node shows what its server wrote, which is for tests that fail.
            with contextlib.redirect_stdout(io.StringIO()):
                made.close()


@contextlib.contextmanager
def running(backend: str) -> Iterator[Node]:
    """A server that is ready, and is stopped in order afterwards."""
    with node(backend) as made:
        yield made.start()
        if (status := made.terminate()) != 0:
            raise RuntimeError(f"the server ended with status {status}: {made.stderr()}")
