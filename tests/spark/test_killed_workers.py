"""Workers of Spark that are killed in the middle of a task: its second try is as good as the first."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from server_ng.spark.command import main
from server_ng.spark.compact import engines
from server_ng.spark.compact.job import run
from server_ng.spark.compact.merging import OUTPUTS
from server_ng.spark.compact.rules import Rules
from server_ng.spark.cutter import Cutter, HeldLease
from server_ng.spark.meter import untold
from tests.spark.cutting_server import CuttingServer
from tests.spark.topics import message, sealed
from tests.spark.written_table import KINDS, WrittenTable
from tests.support.fixtures import LONG
from tests.support.held_open import HeldOpen
from tests.support.lease_files import WrittenSegment, segment, write_lease
from tests.support.waiting import WAIT_MAX

TRIES = 2
"""Of each task, in the session of these tests."""
MASTER = "local[2]"
EVERY = [(0, offset) for offset in range(40)]


def three_segments() -> list[WrittenSegment]:
    """They share a task; the last one is still written to."""
    active = [message(offset) for offset in range(30, 40)]
    return [sealed(0, 20), sealed(20, 10), segment([active[:5], active[5:]], sealed=False)]


@pytest.fixture
def lease(tmp_path: Path) -> HeldLease:
    """Of one partition."""
    return HeldLease(tmp_path / "lease", write_lease(tmp_path / "lease", {0: three_segments()}))


def file(lease: HeldLease, number: int) -> Path:
    return lease.path / lease.lease.partitions[0].segments[number].path


@contextmanager
def killing(kills: int, *way: Path) -> Iterator[None]:
    """Kills so many tries of a task as they open the last of these files, behind the others."""

    def kill() -> None:
        with ExitStack() as stack:
            held = stack.enter_context(HeldOpen(way[0]))
            under_way.set()
            for path in way[1:]:
                held.wait()
                behind = stack.enter_context(HeldOpen(path))
                held.release()
                held = behind
            for _ in range(kills):
                worker = held.waiting()
                worker.kill()
                worker.wait(WAIT_MAX)

    under_way = Event()
    with ThreadPoolExecutor(1) as pool:
        killed = pool.submit(kill)
        assert under_way.wait(WAIT_MAX)
        yield
        killed.result()


def test_a_read_goes_on(spark: SparkSession, lease: HeldLease) -> None:
    frame = spark.read.format("server_ng").load(str(lease.path)).select("partition", "offset")
    with killing(1, file(lease, 1)):
        assert sorted(map(tuple, frame.collect())) == EVERY
    with killing(TRIES, file(lease, 1)), pytest.raises(Py4JJavaError, match="Python worker exited"):
        frame.collect()
    assert sorted(map(tuple, frame.collect())) == EVERY


@pytest.mark.parametrize("kind", KINDS if LONG else ["parquet", "delta"])
def test_an_export_has_each_message_once(
    spark: SparkSession, tmp_path: Path, lease: HeldLease, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    table = WrittenTable(kind, tmp_path / "lake")
    command = ["export", "--lease", str(lease.path), "--to", kind, *table.words(), "--master", MASTER]
    with killing(TRIES, file(lease, 1)):
        assert main(command) == 75
    assert "Python worker exited" in capsys.readouterr().err
    assert table.strays() == set()
    with killing(1, file(lease, 1)):
        assert main(command) == 0
    assert table.places() == EVERY
    assert table.strays() == set()
    assert main(command) == 3


def test_a_compaction_leaves_what_it_would_have_left(spark: SparkSession, tmp_path: Path) -> None:
    rules = Rules(segment_bytes=100_000, tombstones_after=0)
    with CuttingServer(tmp_path / "server") as server:
        server.holds({0: three_segments()})
        cutter = Cutter(server.control)

        def lease() -> HeldLease:
            return cutter.cut("orders", "events", seconds=600)

        alone = run(lease(), rules, engines.local, cutter, untold)
        expected = lease()
        server.holds({0: three_segments()})
        failing = lease()
        # A survey reads the segment that is written to, and the merge behind it does not.
        way = (file(failing, 2), file(failing, 1))
        with killing(TRIES, *way), pytest.raises(Py4JJavaError, match="Python worker exited"):
            run(failing, rules, engines.tasks(MASTER), cutter, untold)
        assert not (failing.path / OUTPUTS).exists()
        again = lease()
        assert again.lease.partitions == failing.lease.partitions
        with killing(1, file(again, 2), file(again, 1)):
            report = run(again, rules, engines.tasks(MASTER), cutter, untold)
        assert report.total == alone.total
        assert report.adopted == 1
        assert not (again.path / OUTPUTS).exists()
        found = lease()
        assert found.lease.partitions == expected.lease.partitions
        assert file(found, 0).read_bytes() == file(expected, 0).read_bytes()
