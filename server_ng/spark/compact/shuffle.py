"""The engine for keys beyond a worker's memory: Spark finds the newest messages, and spills what is too much.

Only keys, offsets and times are shuffled. What comes back is a list of offsets for each segment, in files
below the lease; the segments are then rewritten as on every other engine.
"""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import merge
from pathlib import Path
from typing import Final
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from server_ng.segments.lease import PartitionCut, SegmentCut
from server_ng.spark.compact.engines import Engine, on_workers
from server_ng.spark.compact.merging import OUTPUTS
from server_ng.spark.compact.partition import Compacted, PartitionTask
from server_ng.spark.compact.rules import Rules
from server_ng.spark.compact.survey import Survey, Tally
from server_ng.spark.meter import Told
from server_ng.spark.session import builder

__all__ = ["shuffle"]

_FOLDER: Final = "newest"
_COLUMNS: Final = "key,id,partition,offset,timestamp,tombstone,segment_start"
_SEGMENT: Final = ("partition", "segment_start")
_LIVE, _EXPIRED = "live", "expired"


def shuffle(master: str) -> Engine:
    """Two queries over the topic, and then one task of the cluster for each partition."""

    def run(found: Sequence[PartitionTask], told: Told) -> Iterator[Compacted]:
        if not found:
            return
        session = builder("server-ng spark compact", master).getOrCreate()
        first = found[0]
        messages = _identified(session, first.directory, first.rules)
        folder = first.directory / OUTPUTS / _FOLDER
        _write(_newest(messages, first.rules.horizon(first.cut_at)), folder)
        counts = _counts(messages)
        surveyed = [
            replace(task, surveyor=_Shuffled(folder, counts.get(task.cut.partition, {}))) for task in found
        ]
        told(sum(segment.bytes for task in found for segment in task.cut.segments))
        yield from on_workers(session.sparkContext, surveyed, told)

    return run


def _identified(session: SparkSession, directory: Path, rules: Rules) -> DataFrame:
    """Every message, and what it is about."""
    topic = session.read.format("server_ng").option("columns", _COLUMNS).option("key", rules.key)
    has_key = f.col("key").isNotNull()
    by_id = f.concat(f.lit(b"\1"), f.col("id")) if rules.deduplicate else f.lit(None)
    identity = f.when(has_key, f.concat(f.lit(b"\0"), f.col("key"))).otherwise(by_id)
    return topic.load(str(directory)).select(
        *_SEGMENT,
        "offset",
        "timestamp",
        (has_key & f.col("tombstone")).alias("deletes"),
        identity.alias("about"),
    )


def _newest(messages: DataFrame, horizon: int) -> DataFrame:
    """The newest message of each identity: where it is, and whether it is a tombstone that may go."""
    newest = f.max(f.struct("offset", "segment_start", "deletes", "timestamp")).alias("newest")
    found = messages.where("about is not null").groupBy("partition", "about").agg(newest)
    expired = f.col("newest.deletes") & (f.unix_micros(f.col("newest.timestamp")) < f.lit(horizon))
    return found.select("partition", "newest.segment_start", "newest.offset", expired.alias("expired"))


def _counts(messages: DataFrame) -> Mapping[int, Mapping[int, tuple[int, int]]]:
    """Per partition and segment: messages that are about something, and the last offset."""
    rows = messages.groupBy(*_SEGMENT).agg(f.count("about"), f.max("offset")).collect()
    found: dict[int, dict[int, tuple[int, int]]] = {}
    for partition, start, identified, last in rows:
        found.setdefault(partition, {})[start] = (identified, last)
    return found


def _write(newest: DataFrame, folder: Path) -> None:
    """Puts the offsets of each segment into files: those that stay, and tombstones that may go."""
    folder.mkdir(parents=True)
    order = (*_SEGMENT, "expired", "offset")

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with _Lists(folder) as lists:
            for batch in batches:
                lists.write(batch)
        yield pa.RecordBatch.from_pylist([{"written": lists.written}])

    newest.repartition(*_SEGMENT).sortWithinPartitions(*order).mapInArrow(write, "written long").collect()


class _Lists:
    """The files of one task, whose rows come together; an attempt that dies leaves none that counts."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path: Path | None = None
        self._draft = folder / f"{uuid4().hex}.new"
        self._bytes = b""
        self.written = 0

    def __enter__(self) -> "_Lists":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._end()
        self._draft.unlink(missing_ok=True)

    def write(self, batch: pa.RecordBatch) -> None:
        """Rows in the order of their files."""
        at = 0
        while at < batch.num_rows:
            partition, start, expired = (
                batch.column(name)[at].as_py() for name in ("partition", "segment_start", "expired")
            )
            same = pc.and_(
                pc.equal(batch.column("partition"), partition),
                pc.and_(
                    pc.equal(batch.column("segment_start"), start), pc.equal(batch.column("expired"), expired)
                ),
            )
            count = pc.sum(same).as_py()
            self._append(_path(self._folder, partition, start, expired=expired), batch.slice(at, count))
            at += count

    def _append(self, path: Path, rows: pa.RecordBatch) -> None:
        if path != self._path:
            self._end()
            self._path = path
        offsets = array("Q", rows.column("offset").to_pylist())
        with self._draft.open("ab") as file:
            file.write(offsets.tobytes())
        self.written += len(offsets)

    def _end(self) -> None:
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._draft.replace(self._path)
            self._path = None


def _path(folder: Path, partition: int, start: int, *, expired: bool) -> Path:
    return folder / str(partition) / f"{start}.{_EXPIRED if expired else _LIVE}"


@dataclass(frozen=True, slots=True)
class _Shuffled:
    """A survey that was made by queries."""

    folder: Path
    counts: Mapping[int, tuple[int, int]]

    def __call__(
        self, _directory: Path, cut: PartitionCut, _rules: Rules, _cut_at: int, _told: Told
    ) -> Survey:
        """Of the sealed segments of a partition."""
        newest = _InFiles(self.folder, cut.partition)
        tallies = []
        for segment in cut.segments:
            if segment.digest is not None:
                identified, last = self.counts[segment.first_offset]
                live, expired = (newest.count(segment, expired=expired) for expired in (False, True))
                tallies.append(Tally(segment, identified, last, live, live + expired))
        return Survey(tuple(tallies), newest)


@dataclass(frozen=True, slots=True)
class _InFiles:
    folder: Path
    partition: int

    def count(self, segment: SegmentCut, *, expired: bool) -> int:
        """How many there are."""
        path = _path(self.folder, self.partition, segment.first_offset, expired=expired)
        return path.stat().st_size // 8 if path.exists() else 0

    def within(self, segment: SegmentCut, *, tombstones: bool) -> memoryview:
        """Read when the segment is rewritten, and no sooner."""
        live = self._read(segment, expired=False)
        if not tombstones:
            return live
        return memoryview(array("Q", merge(live, self._read(segment, expired=True))))

    def _read(self, segment: SegmentCut, *, expired: bool) -> memoryview:
        path = _path(self.folder, self.partition, segment.first_offset, expired=expired)
        return memoryview(path.read_bytes() if path.exists() else b"").cast("Q")
