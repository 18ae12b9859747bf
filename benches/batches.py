"""What a batch costs the thread of a shard: sent, polled from memory, polled from the disk; all in counts."""

import mmap
import struct
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from benches.figures import Figure
from benches.nodes import backends
from server_ng.wire.tables import Command
from tests.support.batches import batch, by_number, name8, number, send_body
from tests.support.node import ROOT_CREDENTIAL, Node, Plan
from tests.support.topic_client import TopicClient
from tests.support.waiting import until

__all__ = ["measure"]

_SOURCE: Final = Path(__file__).with_name("shard_work.c")
_MESSAGES: Final = 100
_PAYLOAD: Final = bytes(1_000)
_BATCH: Final = batch([_PAYLOAD] * _MESSAGES)
_WARM_UP: Final = 50
_TIMES: Final = 400
_FIGURES: Final = struct.Struct("=QQ")


def measure() -> Iterator[Figure]:
    """On each backend: system calls, allocations, and copies of the payload."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "shard_work.so"
        command = ["cc", "-O2", "-fno-builtin", "-fno-tree-loop-distribute-patterns", "-shared", "-fPIC"]
        subprocess.run([*command, "-o", library, _SOURCE], check=True)
        for backend in backends():
            home = Path(folder) / backend
            home.mkdir()
            yield from _measure(home, library, backend)


def _measure(folder: Path, library: Path, backend: str) -> Iterator[Figure]:
    work = folder / "work"
    work.write_bytes(bytes(_FIGURES.size))
    environment = {**ROOT_CREDENTIAL, "LD_PRELOAD": str(library), "NG_SHARD_WORK": str(work)}
    # One shard: its thread does all there is to do, the way of the batches to segments included.
    plan = Plan({"system.io.backend": backend, "system.sharding.cpu_allocation": "1"}, environment)
    node = Node(folder, plan)
    try:
        with work.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as figures:
            counter = _Counter(node.start(), figures)
            with TopicClient(node.connect_registered()) as client:
                client.create_stream("batches")
                client.ask(Command.CREATE_TOPIC, number(0) + struct.pack("<I", 1) + name8("all"))
                sent = counter.of(lambda _: _send(client))
                yield from _figures("sent batch", backend, sent)
                newest = _WARM_UP + _TIMES - 1
                yield from _figures("poll from memory", backend, counter.of(lambda _: _poll(client, newest)))
            if node.terminate() != 0:
                raise RuntimeError(f"the server did not stop in order: {node.stderr()}")
            counter.restart()
            with TopicClient(node.connect_registered()) as client:
                read = counter.of(lambda place: _poll(client, place))
                yield from _figures("poll from the disk", backend, read)
            node.terminate()
    finally:
        if node.process.poll() is None:
            node.kill()
        node.notify.close()


class _Counter:
    """Figures of a server before and after something is done many times."""

    def __init__(self, node: Node, figures: mmap.mmap) -> None:
        self._node = node
        self._figures = figures

    def restart(self) -> None:
        self._node.start()

    def of(self, do: Callable[[int], None]) -> Mapping[str, float]:
        """What one time costs."""
        for place in range(_WARM_UP):
            do(place)
        self._wait_for_quiet()
        before = self._now()
        for place in range(_WARM_UP, _WARM_UP + _TIMES):
            do(place)
        self._wait_for_quiet()
        after = self._now()
        return {name: (after[name] - before[name]) / _TIMES for name in after}

    def _wait_for_quiet(self) -> None:
        until(lambda: self._node.counters().total("unflushed_bytes") == 0, "an empty memory")

    def _now(self) -> Mapping[str, float]:
        allocations, copied = _FIGURES.unpack(self._figures[: _FIGURES.size])
        return {
            "system calls": self._node.counters().total("io_syscalls_total"),
            "allocations": allocations,
            "copies": copied / len(_BATCH),
        }


def _send(client: TopicClient) -> None:
    reply = client.ask(Command.SEND_MESSAGES, _BODY)
    if reply.status:
        raise RuntimeError(f"a batch was refused: {reply}")


def _poll(client: TopicClient, place: int) -> None:
    chosen = struct.pack("<BIBQIB", 1, 0, 1, place * _MESSAGES, _MESSAGES, 0)
    body = b"\1" + number(9) + number(0) + number(0) + chosen
    reply = client.ask(Command.POLL_MESSAGES, body)
    if reply.status or len(reply.body) != 16 + len(_BATCH):
        raise RuntimeError(f"a poll brought {len(reply.body)} bytes and status {reply.status}")


_BODY: Final = send_body(number(0), number(0), by_number(0), _BATCH, _MESSAGES)


def _figures(what: str, backend: str, costs: Mapping[str, float]) -> Iterator[Figure]:
    note = f"{_MESSAGES} x {len(_PAYLOAD)} B, {_TIMES} times"
    for name, value in costs.items():
        yield Figure(f"{name} of a {what}, {backend}", value, name.removesuffix("s") + "s", note)
