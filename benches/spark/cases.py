"""The jobs that are measured, each over the same topic, in one warm session."""

import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import uuid4

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from benches.spark.topic import Written
from server_ng.segments.columns import Selection
from server_ng.segments.reader import BATCH_ROWS, SegmentReader, decode
from server_ng.spark.compact import engines, job
from server_ng.spark.compact.engines import Engine
from server_ng.spark.compact.rules import Rules
from server_ng.spark.cutter import HeldLease
from server_ng.spark.export.job import Engine as ExportEngine
from server_ng.spark.export.job import Settings, export, on_spark, on_threads
from server_ng.spark.export.parquet import ParquetTarget
from server_ng.spark.export.rows import Shape
from server_ng.spark.meter import untold
from server_ng.wire.tables import Columns

__all__ = ["MASTER", "Bench", "Rate", "cases"]

MASTER: Final = "local[2]"
_FIVE: Final = "key,value,partition,offset,timestamp"
_WANTED: Final = Selection(Columns.KEY | Columns.VALUE | Columns.OFFSET | Columns.TIMESTAMP)
_PIECE_BYTES: Final = 1 << 20
_UNTIL_WARM: Final = 10
"""Runs that Java compiles in beside them, for most of a second of CPU each; behind them for a fifth."""


@dataclass(frozen=True, slots=True)
class Rate:
    """What a case came to: mostly how much of the log it went through in a second."""

    case: str
    value: float
    goal: str = ""
    unit: str = "MB/s"
    per_cpu_second: float | None = None
    """The same by the time of processors, of what runs in this process: others change it less."""


@dataclass(frozen=True, slots=True)
class Bench:
    """A topic, a warm session, and a folder for what jobs write."""

    topic: Written
    spark: SparkSession
    folder: Path
    runs: int

    def rate(self, run: Callable[[], object]) -> float:
        """The best of some runs in a warm session, in megabytes of the log per second."""
        for _ in range(_UNTIL_WARM):
            run()
        best = min(self._seconds(run) for _ in range(self.runs))
        return self.topic.bytes / best / 1e6

    def here(self, case: str, run: Callable[[], object]) -> Rate:
        """A case that runs in this process alone."""
        run()
        spent = []
        for _ in range(self.runs):
            cpu = time.process_time()
            spent.append((self._seconds(run), time.process_time() - cpu))
        wall, cpu = (self.topic.bytes / min(seconds) / 1e6 for seconds in zip(*spent, strict=True))
        return Rate(case, wall, per_cpu_second=cpu)

    @staticmethod
    def _seconds(run: Callable[[], object]) -> float:
        begun = time.perf_counter()
        run()
        return time.perf_counter() - begun

    def fresh(self, name: str) -> Path:
        """A folder that is not there."""
        path = self.folder / name
        shutil.rmtree(path, ignore_errors=True)
        return path

    def frame(self) -> DataFrame:
        """The five columns of the topic."""
        reader = self.spark.read.format("server_ng").option("columns", _FIVE)
        return reader.load(str(self.topic.directory))


class _Taken:
    """Takes what a job made as a server does, by links, and looks at nothing: that is not measured here."""

    def __init__(self, bench: Bench) -> None:
        self._lease, self._folder = bench.topic.directory, bench.folder / "taken"
        self._folder.mkdir(exist_ok=True)

    def adopt(
        self, lease: str, partition: int, inputs: list[dict[str, int]], outputs: list[dict[str, object]]
    ) -> None:
        """Links them; without that a job would give back the room of all that it made."""
        del lease, partition, inputs
        for each in outputs:
            (self._folder / uuid4().hex).hardlink_to(self._lease / str(each["path"]))


class _Held:
    """The topic in memory, segment by segment."""

    def __init__(self, topic: Written) -> None:
        self._segments = [
            (cut.partition, segment.bytes, memoryview((topic.directory / segment.path).read_bytes()))
            for cut in topic.lease.partitions
            for segment in cut.segments
        ]

    def decode(self) -> None:
        """All of it to columns, piece by piece."""
        for partition, valid, content in self._segments:
            position = after = 0
            while position < valid:
                piece = content[position : min(position + _PIECE_BYTES, valid)]
                walk = valid - position, after, partition
                decoded, _ = decode(piece, walk, _WANTED, pa.allocate_buffer, BATCH_ROWS)
                position, after = position + decoded.consumed, decoded.after


def cases(bench: Bench) -> Iterator[Rate]:
    yield bench.here("decode with verification, one core, called from Python", _Held(bench.topic).decode)
    yield bench.here("the same, with the reading of files", lambda: _decode(bench.topic))
    through = bench.rate(lambda: _read(bench.frame()))
    yield Rate("five columns through Spark", through, ">= 700")
    rows = bench.fresh("rows.parquet")
    bench.frame().write.parquet(str(rows))
    parquet = bench.rate(lambda: _read(bench.spark.read.parquet(str(rows))))
    yield Rate("the same rows, from Parquet", parquet)
    yield Rate("Parquet over Spark", parquet / through, "<= 1.5", "times")
    local, tasks = engines.local, engines.tasks(MASTER)
    yield bench.here("compaction without Spark, 2 cores, synced", lambda: _compact(bench, local))
    yield Rate(
        "compaction, a task per partition, synced", bench.rate(lambda: _compact(bench, tasks)), ">= 1,200"
    )
    yield bench.here("export to Parquet without Spark, 2 cores", lambda: _export(bench, on_threads))
    ours = bench.rate(lambda: _export(bench, on_spark(MASTER)))
    yield Rate("export to Parquet, tasks of Spark", ours)
    theirs = bench.rate(lambda: _write(bench))
    yield Rate("Spark's own writer on the same scan", theirs)
    yield Rate("export over Spark's writer", ours / theirs, ">= 2", "times")


def _decode(topic: Written) -> None:
    for cut in topic.lease.partitions:
        for segment in cut.segments:
            with SegmentReader(topic.directory, segment, cut.partition) as reader:
                for _ in reader.columns(_WANTED, allocate=pa.allocate_buffer, piece_bytes=_PIECE_BYTES):
                    pass


def _read(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def _compact(bench: Bench, engine: Engine) -> None:
    rules = Rules(tombstones_after=0)
    job.run(HeldLease(bench.topic.directory, bench.topic.lease), rules, engine, _Taken(bench), untold)


def _export(bench: Bench, engine: ExportEngine) -> None:
    target = ParquetTarget(bench.fresh("ours"))
    held = HeldLease(bench.topic.directory, bench.topic.lease)
    export(held, target, Settings(Shape()), engine)


def _write(bench: Bench) -> None:
    bench.frame().write.option("compression", "zstd").mode("overwrite").parquet(str(bench.fresh("theirs")))
