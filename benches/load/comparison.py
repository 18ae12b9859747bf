"""A node and the null sink under the same load, in turns."""

import contextlib
import io
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from benches import programs
from benches.load import generator
from benches.load.cases import Case, Measurement
from benches.programs import Target
from tests.support.node import Node, Plan

__all__ = ["Comparison", "Setting", "compare"]

_MEMORY: Final = Path("/dev/shm")
_OPEN_SHARE: Final = 0.7
"""The share of what a closed loop reached at which requests of the open one are due."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Where and how long."""

    backend: str
    folder: Path
    pairs: int
    seconds: float
    server_cpu: int = 0
    load_cpu: int = 1


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was seen of one case: the runs that count, in order."""

    case: Case
    nodes: tuple[Measurement, ...]
    sinks: tuple[Measurement, ...]
    open_loop: Measurement

    @property
    def node(self) -> Measurement:
        """The run of the node whose rate is in the middle."""
        return _middle(self.nodes)

    @property
    def sink(self) -> Measurement:
        """The run of the sink whose rate is in the middle."""
        return _middle(self.sinks)

    @property
    def fraction(self) -> float:
        """The node's rate in those of the sink; pair by pair, for the machine changes its mind."""
        pairs = zip(self.nodes, self.sinks, strict=True)
        return median(node.requests_per_second / sink.requests_per_second for node, sink in pairs)


def compare(case: Case, setting: Setting) -> Comparison:
    """Measures one case. The first pair warms both up and does not count."""
    sinks: list[Measurement] = []
    nodes: list[Measurement] = []
    with _node(case, setting) as node, generator.null_sink(case, setting.backend, setting.server_cpu) as sink:
        generator.prepare(case, node, setting.load_cpu)
        for _ in range(setting.pairs + 1):
            nodes.append(generator.run(case, node, setting.load_cpu, setting.seconds))
            sinks.append(generator.run(case, sink, setting.load_cpu, setting.seconds))
        rate = _OPEN_SHARE * _middle(nodes[1:]).requests_per_second
        opened = generator.run(case, node, setting.load_cpu, setting.seconds, rate)
    return Comparison(case, tuple(nodes[1:]), tuple(sinks[1:]), opened)


def _middle(runs: tuple[Measurement, ...] | list[Measurement]) -> Measurement:
    return sorted(runs, key=lambda run: run.requests_per_second)[len(runs) // 2]


@contextlib.contextmanager
def _node(case: Case, setting: Setting) -> Iterator[Target]:
    """A node with one shard, on a CPU of its own and with the sizes of frames that are its defaults."""
    parent = _MEMORY if case.in_memory else setting.folder
    settings = {"system.io.backend": setting.backend, "message_bus.max_message_size": "64 MiB"}
    with tempfile.TemporaryDirectory(dir=parent, prefix="server-ng-load-") as folder:
        node = Node(Path(folder), Plan(settings=settings))
        with programs.on_cpu(setting.server_cpu):
            node.start()
        try:
            yield Target(node.tcp, node.pid)
            if (status := node.terminate()) != 0:
                raise RuntimeError(f"the server ended with status {status}: {node.stderr()}")
        finally:
            # A node shows what its server wrote, which is for tests that fail.
            with contextlib.redirect_stdout(io.StringIO()):
                node.close()
