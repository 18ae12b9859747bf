"""What partitions cost that nobody has written to: memory, a restart with few descriptors, other requests."""

import contextlib
import io
import statistics
import struct
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benches import process
from benches.figures import Figure
from benches.nodes import backends
from server_ng.wire.tables import Command
from tests.support.batches import batch, by_number, name8, number, send_body
from tests.support.few_descriptors_start import DESCRIPTORS
from tests.support.node import FEW_DESCRIPTORS_START, Node, Plan
from tests.support.topic_client import TopicClient

__all__ = ["measure"]

_MIB: Final = 2**20
_COUNTS: Final = (10_000, 100_000)
_PER_TOPIC: Final = 1_000
_SENDS: Final = 2_000
_STARTS: Final = 3


def measure() -> Iterator[Figure]:
    """On the last backend: partitions that nobody has written to have no files."""
    with tempfile.TemporaryDirectory() as folder:
        # As a server is that is told nothing else: nodes of tests have small frames, and so a small journal.
        settings = {"system.io.backend": backends()[-1], "message_bus.max_message_size": "64 MiB"}
        node = Node(Path(folder), Plan(settings=settings, start=FEW_DESCRIPTORS_START))
        try:
            yield from _grow(node.start())
        finally:
            # A node shows what its server wrote, which is for tests that fail.
            with contextlib.redirect_stdout(io.StringIO()):
                node.close()


def _grow(node: Node) -> Iterator[Figure]:
    with _client(node) as client:
        _make(client, 0, 1)
        few = _send_p50(client)
    before = 0
    for count in _COUNTS:
        with _client(node) as client:
            began = time.monotonic()
            for topic in range(before // _PER_TOPIC, count // _PER_TOPIC):
                _make(client, topic + 1, _PER_TOPIC)
            took = time.monotonic() - began
            each = took * _PER_TOPIC / (count - before)
            yield Figure(f"topic of {_PER_TOPIC} partitions, up to {count}", each * 1_000, "ms")
            many = _send_p50(client)
            note = f"{many * 1e6:.0f} us / {few * 1e6:.0f} us"
            yield Figure(f"send p50 beside {count} partitions / beside none", many / few, "x", note)
        before = count
        yield from _memory_and_restart(node, count)


def _memory_and_restart(node: Node, count: int) -> Iterator[Figure]:
    yield Figure(f"RSS with {count} partitions", process.rss(node.pid) / _MIB, "MiB", "as they were made")
    starts = []
    for _ in range(_STARTS):
        node.terminate()
        began = time.monotonic()
        node.restart()
        starts.append(time.monotonic() - began)
    note = f"median of {_STARTS}, {DESCRIPTORS} descriptors, {node.descriptors()} in use"
    yield Figure(f"restart with {count} partitions", statistics.median(starts) * 1_000, "ms", note)
    with _client(node) as client:
        p50 = _send_p50(client)
    rss = process.rss(node.pid) / _MIB
    yield Figure(f"RSS with {count} partitions, restarted", rss, "MiB", f"send p50 {p50 * 1e6:.0f} us")


def _client(node: Node) -> TopicClient:
    return TopicClient(node.connect_registered())


def _make(client: TopicClient, topic: int, partitions: int) -> None:
    if topic == 0:
        client.create_stream("partitions")
    reply = client.ask(
        Command.CREATE_TOPIC, number(0) + struct.pack("<I", partitions) + name8(f"topic-{topic}")
    )
    if reply.status or reply.rejection:
        raise RuntimeError(f"a topic was refused: {reply}")


def _send_p50(client: TopicClient) -> float:
    """Seconds of a small send to the first topic, one after another."""
    body = send_body(number(0), number(0), by_number(0), batch([bytes(64)]), 1)
    took = []
    for _ in range(_SENDS):
        began = time.perf_counter()
        reply = client.ask(Command.SEND_MESSAGES, body)
        took.append(time.perf_counter() - began)
        if reply.status:
            raise RuntimeError(f"a batch was refused: {reply}")
    return statistics.median(took)
