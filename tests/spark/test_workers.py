"""What tasks do for the workers that they come to."""

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from server_ng.spark.compact import engines
from server_ng.spark.compact.job import run
from server_ng.spark.compact.rules import Rules
from server_ng.spark.cutter import HeldLease
from server_ng.spark.export.job import Settings, export, on_spark
from server_ng.spark.export.opening import open_target
from server_ng.spark.export.rows import Shape
from server_ng.spark.meter import untold
from server_ng.spark.options import Options
from server_ng.spark.schema import declared
from server_ng.spark.source import TopicReader
from server_ng.spark.workers import settle
from tests.spark.topics import small_topic

MASTER = "local[2]"
MODULES = 10_000
"""Objects that a worker has imported, at least."""


@pytest.fixture
def leased(tmp_path: Path) -> HeldLease:
    """A small topic."""
    return HeldLease(tmp_path / "lease", small_topic(tmp_path / "lease"))


def unsettle(_: int = 0) -> None:
    """Makes a process a worker before its first task."""
    settle.cache_clear()
    gc.unfreeze()


@pytest.fixture
def unsettled() -> Iterator[None]:
    """This process is one, and is put back behind the test."""
    unsettle()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("unsettled")
def test_a_task_of_the_source_hides_modules_from_the_collector(leased: HeldLease) -> None:
    options = Options.parse({"path": str(leased.path)})
    reader = TopicReader(options, declared(options))
    assert gc.get_freeze_count() == 0
    for task in reader.partitions():
        assert list(reader.read(task))
    assert gc.get_freeze_count() > MODULES


@pytest.mark.parametrize("job", ["compaction", "export"])
def test_a_task_of_a_job_hides_modules_from_the_collector(
    spark: SparkSession, tmp_path: Path, leased: HeldLease, job: str
) -> None:
    workers = spark.sparkContext.parallelize(range(16), 16)
    workers.foreach(unsettle)
    if job == "compaction":
        run(leased, Rules(), engines.tasks(MASTER), None, untold)
    else:
        export(
            leased, open_target("parquet", str(tmp_path / "lake"), {}), Settings(Shape()), on_spark(MASTER)
        )
    assert max(workers.map(lambda _: gc.get_freeze_count()).collect()) > MODULES
