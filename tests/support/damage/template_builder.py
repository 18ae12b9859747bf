"""Builds the templates of a sweep: histories of a server on one and on four shards, stopped and killed.

A history begins with two shards, so that LAYOUT has an earlier version, too. It has sealed, unsealed,
compacted, purged and truncated partitions, stored offsets, a lease, and a deleted topic in the trash.
"""

import random
import shutil
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.support.compaction import compact
from tests.support.control import Control
from tests.support.damage.accepted_template import accept_loss
from tests.support.damage.history import History
from tests.support.damage.journals import is_proven, live_files, shard_directories
from tests.support.damage.ledger import Ledger, PartitionKey
from tests.support.damage.offset_ranges import offset_ranges
from tests.support.damage.template import Template, copy_tree, shard_settings
from tests.support.node import Node, Plan
from tests.support.topic_client import Place, TopicClient
from tests.support.waiting import until

__all__ = ["build_templates"]

_MIB: Final = 1 << 20
_SEALED = PartitionKey("orders", "sealed", 0)
_SMALL = PartitionKey("orders", "sealed", 1)
_COMPACTED = PartitionKey("orders", "compacted", 0)
_PURGED = PartitionKey("audit", "purged", 0)
_TRUNCATED = PartitionKey("audit", "truncated", 0)
_DELETED = Place("audit", "deleted")
_CONSUMERS: Final = (7, 8)
_SHARDS: Final = (1, 4)
_SIDE_BY_SIDE: Final = 2


def build_templates(folder: Path, seed: int) -> None:
    """Builds every template below a folder, two at a time."""
    with ThreadPoolExecutor(_SIDE_BY_SIDE) as builds:
        histories = [builds.submit(_build, folder, shards, seed) for shards in _SHARDS]
    for history in histories:
        history.result()


def _build(folder: Path, shards: int, seed: int) -> None:
    _Builder(folder, f"stopped-{shards}", shards, seed).build(_end_stopped)
    killed = _Builder(folder, f"killed-{shards}", shards, seed).build(_end_killed)
    accept_loss(killed, folder / f"accepted-{shards}")


class _Builder:
    """One history in the making."""

    def __init__(self, folder: Path, name: str, shards: int, seed: int) -> None:
        self.folder = folder / name
        self.folder.mkdir(parents=True)
        self.dice = random.Random(f"{name}-{seed}")
        self.ledger = Ledger()
        self.shards = shards
        self.earlier = 0
        self.node = Node(self.folder, Plan())

    def build(self, end: "Callable[[_Builder], None]") -> Template:
        """Lives the history, whose last life is `end`."""
        try:
            _begin(self)
            _work(self)
            end(self)
        finally:
            self.node.close()
        ranges = offset_ranges(self.node.data, self.ledger)
        for path in self.folder.glob("run-*"):
            path.unlink()
        template = Template(self.folder, shard_settings(self.shards), ranges, self.earlier)
        template.save(self.ledger)
        return template

    def start(self, shards: int) -> None:
        """Starts the server."""
        self.node.restart(shard_settings(shards))

    @contextmanager
    def client(self) -> Iterator[History]:
        """A connection whose acknowledgements are entered."""
        with TopicClient(self.node.connect_registered()) as client:
            yield History(client, self.ledger, self.dice)

    def keep_moment(self) -> None:
        """Keeps a copy of the directory of the stopped server."""
        copy_tree(self.node.data, self.folder / f"earlier-{self.earlier}")
        self.earlier += 1


def _begin(builder: _Builder) -> None:
    builder.start(2)
    with builder.client() as client:
        for stream in ("orders", "audit"):
            client.create_stream(stream)
        for key, partitions in ((_SEALED, 2), (_COMPACTED, 1), (_PURGED, 1), (_TRUNCATED, 1)):
            client.create_topic(key.place, partitions)
        client.create_topic(_DELETED, 1)
        for key in builder.ledger.partitions:
            client.fill(key, _MIB + _MIB // 2)
            client.store_offset(key, _CONSUMERS[0], 3)
    _stop(builder)


def _work(builder: _Builder) -> None:
    builder.start(builder.shards)
    with builder.client() as client:
        client.fill(_COMPACTED, 2 * _MIB)
        client.fill(_TRUNCATED, 2 * _MIB)
        client.purge_topic(_PURGED.place)
        client.fill(_PURGED, _MIB + _MIB // 2)
        _until_flushed(builder.node)
        client.delete_segments(_TRUNCATED, 1)
        _compact(builder.node, client)
        for key in builder.ledger.partitions:
            client.store_offset(key, _CONSUMERS[1], builder.ledger.partitions[key].next_offset - 1)
    _until_flushed(builder.node)
    with Control(builder.node.endpoints["control"]) as job:
        job.cut(_SEALED.stream, _SEALED.topic, ttl=36_000)
    assert builder.node.kill() == -signal.SIGKILL
    builder.keep_moment()
    builder.start(builder.shards)
    with builder.client() as client:
        client.fill(_SEALED, 2 * _MIB)
        client.send(_SMALL, 100, 5)
        client.delete_topic(_DELETED)
    _stop(builder)


def _end_stopped(builder: _Builder) -> None:
    builder.start(builder.shards)
    with builder.client() as client:
        for key in builder.ledger.partitions:
            client.send(key, 1_000, 3)
            client.store_offset(key, _CONSUMERS[1], builder.ledger.partitions[key].next_offset - 1)
    assert builder.node.terminate() == 0
    _fill_trash(builder)


def _end_killed(builder: _Builder) -> None:
    """Kills the server while most of its last messages are in several files of its journals."""
    builder.start(builder.shards)
    with builder.client() as client:
        for _ in range(6):
            for key in builder.ledger.partitions:
                client.fill(key, _MIB // 2)
                client.send(key, 50, 2)
        for key in builder.ledger.partitions:
            client.store_offset(key, _CONSUMERS[1], builder.ledger.partitions[key].next_offset - 1)
        # Rot of the last block cannot be told from a torn write until a mark follows, 100 ms later.
        until(
            lambda: all(is_proven(shard) for shard in shard_directories(builder.node.data)),
            "journals that are proven",
        )
        assert builder.node.kill() == -signal.SIGKILL
    assert any(live_files(shard) >= 3 for shard in shard_directories(builder.node.data)), (
        "a journal of three live files"
    )
    _fill_trash(builder)


def _stop(builder: _Builder) -> None:
    assert builder.node.terminate() == 0
    builder.keep_moment()


def _fill_trash(builder: _Builder) -> None:
    """Adds what a removal leaves in the trash until it is emptied."""
    directory = next((builder.folder / "earlier-0" / "groups").glob("*/*/SEGMENTS")).parent
    shutil.copytree(directory, builder.node.data / "trash" / f"{directory.name}-left")


def _until_flushed(node: Node) -> None:
    until(lambda: node.counters().total("unflushed_bytes") == 0, "every message in a segment")


def _compact(node: Node, client: History) -> None:
    with Control(node.endpoints["control"]) as job:
        path = job.cut(_COMPACTED.stream, _COMPACTED.topic)
        offer = compact(path, _COMPACTED.number, _is_kept)
        assert job.ask("adopt", **offer.fields)["ok"]
        assert job.ask("release", lease=path.name)["ok"]
    client.keep(_COMPACTED, lambda offset: offset >= offer.end or _is_kept(offset))


def _is_kept(offset: int) -> bool:
    return offset % 3 == 0
