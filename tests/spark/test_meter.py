"""The bar of a job: a line on a terminal, and nothing elsewhere."""

import io
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from server_ng.spark.command import main
from server_ng.spark.meter import Meter
from server_ng.spark.watching import watching
from tests.spark.topics import small_topic
from tests.support.waiting import until


class Terminal(io.StringIO):
    """Somebody looks."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_sees_the_bar_and_then_nothing_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    terminal = Terminal()
    with Meter(1_000_000, terminal) as meter:
        now[0] = 0.01
        meter.told(100_000)
        assert terminal.getvalue() == ""
        now[0] = 0.5
        meter.told(400_000)
        assert terminal.getvalue() == "\r[###############...............]  50%  1 MB/s"
        now[0] = 1.0
        meter.told(5_000_000)
        assert "] 100%  " in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_nobody_is_told_where_nobody_looks() -> None:
    stream = io.StringIO()
    with Meter(0, stream) as meter, ThreadPoolExecutor(4) as pool:
        list(pool.map(meter.told, range(1_000)))
    assert stream.getvalue() == ""
    assert meter.line(1.0).startswith("[##############################] 100%")


def waiting_for(file: Path) -> Callable[[int], int]:
    """A task: of two, the second ends only when there is such a file."""

    def task(number: int) -> int:
        if number:
            until(file.exists, "somebody is told of the first task", 120.0)
        return number

    return task


def test_what_spark_has_done_is_told_while_it_works(spark: SparkSession, tmp_path: Path) -> None:
    told: list[int] = []

    def tell(more: int) -> None:
        told.append(more)
        (tmp_path / "told").touch()

    context = spark.sparkContext
    with watching(context, 1_000, tell):
        assert context.parallelize([0, 1], 2).map(waiting_for(tmp_path / "told")).collect() == [0, 1]
        assert sum(told) in (500, 1_000)
    assert sum(told) == 1_000
    assert context.getLocalProperty("spark.jobGroup.id") is None


@pytest.mark.parametrize(
    "job",
    [
        ["verify"],
        ["sql", "select count(*) from topic"],
        ["sql", "--json", "select count(*) from topic"],
        ["export", "--to", "parquet", "--master", "local[2]"],
    ],
)
def test_each_job_says_when_all_of_it_is_done(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, job: list[str]
) -> None:
    meters: list[tuple[int, list[int]]] = []

    class Counting(Meter):
        def __init__(self, total: int) -> None:
            super().__init__(total, io.StringIO())
            meters.append((total, []))

        def told(self, bytes_: int) -> None:
            meters[-1][1].append(bytes_)

    monkeypatch.setattr("server_ng.spark.command.Meter", Counting)
    lease = small_topic(tmp_path / "lease")
    target = ["--target", str(tmp_path / "table")] if job[0] == "export" else []
    assert main([*job, *target, "--lease", str(tmp_path / "lease")]) == 0
    ((total, told),) = meters
    assert total == sum(segment.bytes for cut in lease.partitions for segment in cut.segments)
    assert sum(told) == total
