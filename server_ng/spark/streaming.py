"""``readStream``: each micro-batch reads a cut of its own, so a query follows what is committed."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from server_ng.spark.cutter import Cutter, HeldLease, let_go, renewing
from server_ng.spark.limits import Limits
from server_ng.spark.options import Options
from server_ng.spark.pacing import by_bytes, by_rows, rows_between
from server_ng.spark.planning import scans
from server_ng.spark.progress import Progress, advanced, begin, between, check
from server_ng.spark.scanning import ScanPartition, read
from server_ng.spark.tasks import lease_of, tasks, wanted_of

__all__ = ["STREAM_LEASE_SECONDS", "TopicStreamReader"]

STREAM_LEASE_SECONDS: Final = 60
"""Spark kills the process that this lives in when a query ends, so that its last lease is left to run out."""


class TopicStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Lives on the driver for as long as the query; workers get a copy without a lease and only read."""

    def __init__(self, options: Options, schema: StructType) -> None:
        self._options = options
        self._names = tuple(schema.fieldNames())
        self._schema: pa.Schema = to_arrow_schema(schema, timezone="UTC")
        self._held: _Held | None = None
        self._frozen = False
        self._taken = time.monotonic()
        """When the last micro-batch took something, or the query began."""

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_held": None}

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Where a query without a checkpoint begins."""
        lease = self._fresh().lease
        first = {each.cut.partition: each.first for each in wanted_of(self._options, self._current())}
        ends = {cut.partition: first.get(cut.partition, cut.end_offset) for cut in lease.partitions}
        return advanced(Progress("", {}), lease, ends).plain()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """The limit that the options ask for."""
        options = self._options
        if options.trigger_rows is not None:
            return ReadMaxRows(options.trigger_rows)
        if options.trigger_bytes is not None:
            return ReadMaxBytes(options.trigger_bytes)
        if options.trigger_rows_min is not None:
            return ReadMinRows(options.trigger_rows_min)
        return ReadAllAvailable()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802 - Spark's
        """How far the next micro-batch goes: a new cut, as far as the limit lets it."""
        begun = Progress.of(start)
        lease = (self._current() if self._frozen or self._is_young() else self._fresh()).lease
        self._check(begun, lease)
        begins = {cut.partition: begin(begun, lease, cut) for cut in lease.partitions}
        match limit:
            case ReadMaxRows(max_rows=rows):
                ends = by_rows(begins, lease.partitions, rows)
            case ReadMaxBytes(max_bytes=bytes_):
                ends = by_bytes(begins, lease.partitions, bytes_)
            case ReadMinRows(min_rows=rows) if self._waits_for(rows, rows_between(begins, lease.partitions)):
                return start
            case _:
                ends = {cut.partition: cut.end_offset for cut in lease.partitions}
        self._taken = time.monotonic()
        return advanced(begun, lease, ends).plain()

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802 - Spark's name
        """What the last cut held, for the progress of the query."""
        if self._held is None:
            return None
        lease = self._held.leased.lease
        ends = {cut.partition: cut.end_offset for cut in lease.partitions}
        return advanced(Progress("", {}), lease, ends).plain()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """From now on nothing newer than this moment is read."""
        self._fresh()
        self._frozen = True

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """The tasks of a micro-batch."""
        leased = self._current()
        options = self._options
        wanted = between(
            Progress.of(start),
            Progress.of(end),
            leased.lease,
            strict=options.fail_on_data_loss,
            restart=options.restart_at_earliest,
        )
        names = {"stream": leased.lease.stream, "topic": leased.lease.topic}
        found = scans(wanted, Limits(), names)
        return list(tasks(options, leased, self._names, found, Limits()))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a task."""
        return read(partition, self._schema) if isinstance(partition, ScanPartition) else iter(())

    def stop(self) -> None:
        """Ends the lease, if Spark lets it."""
        if self._held is not None:
            self._held.end()
            self._held = None

    def _waits_for(self, wanted: int, there: int) -> bool:
        """Whether it is better to wait until more messages are there."""
        patient = time.monotonic() - self._taken < self._options.trigger_delay
        return there < wanted and not self._frozen and (patient or not there)

    def _check(self, begun: Progress, lease: Any) -> None:
        options = self._options
        check(begun, lease, strict=options.fail_on_data_loss, restart=options.restart_at_earliest)

    def _current(self) -> HeldLease:
        """The lease that the running micro-batch reads; a query that was restarted over one makes it anew."""
        return self._fresh() if self._held is None else self._held.leased

    def _is_young(self) -> bool:
        """Whether it is too early for another cut: of an idle topic Spark asks a hundred times a second."""
        return self._held is not None and time.monotonic() - self._held.made < self._options.cut_interval

    def _fresh(self) -> HeldLease:
        """A new cut. Spark wants one only when the micro-batch before has ended, so the last lease may go."""
        fresh = _Held(self._options)
        self.stop()
        self._held = fresh
        return fresh.leased


class _Held:
    """A lease that is renewed until it is ended; one that the user made stays the user's."""

    def __init__(self, options: Options) -> None:
        self.leased = lease_of(options)
        self.made = time.monotonic()
        self._stack = ExitStack()
        if options.control is not None:
            cutter, name = Cutter(options.control), self.leased.lease.lease
            self._stack.callback(let_go, cutter, name)
            self._stack.enter_context(renewing(cutter, name, options.lease_seconds))

    def end(self) -> None:
        """Gives it back."""
        self._stack.close()
