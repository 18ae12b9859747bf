"""Rows apart by day, by hour, or by partition: each data file holds rows of one of them alone."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["PartitionBy", "parts"]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class PartitionBy(StrEnum):
    """What tells rows apart; times are those of the append, UTC."""

    NOTHING = "nothing"
    PARTITION = "partition"
    DAY = "day"
    HOUR = "hour"

    @property
    def _span(self) -> timedelta:
        return timedelta(hours=1) if self is PartitionBy.HOUR else timedelta(days=1)

    def part(self, number: int) -> str:
        """How readers see a part: 3, 2026-11-18, or 2026-11-18-05."""
        if self is PartitionBy.PARTITION:
            return str(number)
        return (_EPOCH + number * self._span).strftime(
            "%Y-%m-%d-%H" if self is PartitionBy.HOUR else "%Y-%m-%d"
        )

    def numbers(self, batch: pa.RecordBatch) -> pa.Array:
        """The part of each row."""
        if self is PartitionBy.PARTITION:
            return batch.column("partition").cast(pa.int64())
        micros = self._span // timedelta(microseconds=1)
        return pc.divide(batch.column("timestamp").cast(pa.int64()), micros)


def parts(batch: pa.RecordBatch, by: PartitionBy) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The rows of a batch, in order, each run of one part together, with its name."""
    if by is PartitionBy.NOTHING or not batch.num_rows:
        yield "", batch
        return
    runs = pc.run_end_encode(by.numbers(batch))
    start = 0
    for number, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
        yield by.part(number), batch.slice(start, end - start)
        start = end
