"""One planner, three engines: what comes out is the same, to the byte."""

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from server_ng.spark.command import main
from server_ng.spark.compact import engines
from server_ng.spark.compact.engines import Engine
from server_ng.spark.compact.job import run
from server_ng.spark.compact.rules import Rules
from server_ng.spark.compact.shuffle import shuffle
from server_ng.spark.cutter import HeldLease
from server_ng.spark.meter import untold
from tests.spark.topics import sealed
from tests.support.lease_files import Message, WrittenSegment, header_field, headers, segment, write_lease

MASTER = "local[2]"
ENGINES: Mapping[str, Engine] = {
    "local": engines.local,
    "tasks": engines.tasks(MASTER),
    "shuffle": shuffle(MASTER),
}
TOMBSTONE = header_field(2, b"tombstone") + header_field(2, b"true")


class Kept:
    """A server that keeps what it is offered."""

    def __init__(self, directory: Path) -> None:
        self.files: dict[str, bytes] = {}
        self.offered: list[Any] = []
        self._directory = directory

    def adopt(self, lease: str, partition: int, inputs: Any, outputs: Any) -> None:
        self.offered.append((partition, inputs, outputs))
        for each in outputs:
            self.files[each["path"]] = (self._directory / each["path"]).read_bytes()


def history(seed: int, partition: int, group: int) -> list[WrittenSegment]:
    """Segments of all sorts of messages: keys in headers, in payloads, none; tombstones of all ages."""
    chance = random.Random(seed)
    found, at = [], chance.randrange(100)
    for _ in range(7):
        batches = []
        for _ in range(chance.randrange(1, 9)):
            batch = []
            for _ in range(chance.randrange(1, 20)):
                key = chance.randrange(60)
                named = headers({"key": b"%d" % key}) if chance.random() < 0.8 else b""
                deletes = TOMBSTONE if chance.random() < 0.1 else b""
                payload = b'{"user": {"name": "%d"}, "at": %d}' % (key, at) if chance.random() < 0.9 else b""
                batch.append(Message(at, payload, named + deletes, identity=chance.randrange(40)))
                at += chance.choice((1, 1, 1, 3))
            batches.append(batch)
            at += chance.randrange(5)
        found.append(batches)
    return [
        segment(batches, partition=partition, group=group, sealed=number < 6)
        for number, batches in enumerate(found)
    ]


@pytest.mark.parametrize(
    "rules",
    [
        Rules(segment_bytes=20_000, tombstones_after=86_397),
        Rules(segment_bytes=20_000, tombstones_after=0, deduplicate=True),
        Rules(key="json:/user/name", segment_bytes=1 << 20, tombstones_after=7 * 86_400),
        Rules(key="id", segment_bytes=4_000, tombstones_after=0),
        Rules(key="none", segment_bytes=30_000),
    ],
)
def test_outputs_are_the_same_bytes(spark: SparkSession, tmp_path: Path, rules: Rules) -> None:
    kept = {}
    groups = {0: 7, 1: 8, 2: 9}
    for name, engine in ENGINES.items():
        folder = tmp_path / name
        lease = write_lease(
            folder,
            {0: history(1, 0, 7), 1: history(2, 1, 8), 2: [sealed(0, 3, partition=2, group=9)]},
            groups=groups,
        )
        kept[name] = Kept(folder)
        run(HeldLease(folder, lease), rules, engine, kept[name], untold)
    local = kept.pop("local")
    assert len(local.files) >= 2
    for name, other in kept.items():
        assert other.offered == local.offered, name
        assert other.files == local.files, name


def test_what_a_worker_finds_wrong_is_the_exit_status(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = history(1, 0, 7)
    write_lease(tmp_path, {0: found})
    command = ["compact", "--lease", str(tmp_path), "--dry-run", "--engine", "tasks", "--master", MASTER]
    assert main([*command, "--key-memory", "1KiB"]) == 78
    assert "--engine shuffle" in capsys.readouterr().err
    assert main(command) == 0
    rotten = bytearray(found[3].content)
    rotten[300] ^= 1
    (tmp_path / found[3].cut.path).write_bytes(rotten)
    assert main(command) == 6
