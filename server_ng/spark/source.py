"""``format("server_ng")``: a topic as a table."""

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, Filter, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from server_ng.spark.errors import OptionError
from server_ng.spark.limits import Limits
from server_ng.spark.options import Options
from server_ng.spark.planning import scans
from server_ng.spark.scanning import ScanPartition, read
from server_ng.spark.schema import check, declared
from server_ng.spark.streaming import STREAM_LEASE_SECONDS, TopicStreamReader
from server_ng.spark.tasks import lease_of, tasks, wanted_of

__all__ = ["ServerNgSource", "TopicReader"]


class ServerNgSource(DataSource):
    """Topics of server-ng, read from the segments of a lease."""

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "server_ng"

    def schema(self) -> StructType:
        """The columns that the options ask for."""
        return declared(Options.parse(self.options))

    def reader(self, schema: StructType) -> "TopicReader":
        """Reads a topic as it is now, or as it was when its lease was made."""
        check(schema)
        return TopicReader(Options.parse(self.options), schema)

    def streamReader(self, schema: StructType) -> TopicStreamReader:  # noqa: N802 - Spark's name
        """Follows a topic."""
        check(schema)
        return TopicStreamReader(Options.parse(self.options, lease_seconds=STREAM_LEASE_SECONDS), schema)

    def writer(self, schema: StructType, overwrite: bool) -> Any:  # noqa: ARG002 - Spark's signature
        """Topics are written by clients of the server."""
        raise _no_writer()

    def streamWriter(self, schema: StructType, overwrite: bool) -> Any:  # noqa: ARG002, N802 - Spark's
        """Topics are written by clients of the server."""
        raise _no_writer()


def _no_writer() -> OptionError:
    return OptionError("a topic cannot be written from Spark: send messages with a client of the server")


class _Pushdown:
    """Takes filters where the session allows it.

    Spark refuses a reader that has a method for filters while spark.sql.python.filterPushdown.enabled is off,
    instead of filtering itself; it tells such a reader by the function behind the method, which here is the
    one of the base class.
    """

    def __init__(self, reader: "TopicReader") -> None:
        self._reader = reader
        self.__func__ = DataSourceReader.pushFilters

    def __call__(self, filters: Iterable[Filter]) -> list[Filter]:
        return [each for each in filters if not self._reader.narrow(each)]


class TopicReader(DataSourceReader):
    """Plans on the driver, and is pickled to the workers."""

    def __init__(self, options: Options, schema: StructType) -> None:
        self._options = options
        self._names = tuple(schema.fieldNames())
        self._schema: pa.Schema = to_arrow_schema(schema, timezone="UTC")
        self._limits = Limits()
        self.pushFilters = _Pushdown(self)  # type: ignore[method-assign]

    def narrow(self, each: Filter) -> bool:
        """Whether a filter is applied here, and Spark need not."""
        kind = type(each).__name__
        narrowed = self._limits.narrowed(kind, getattr(each, "attribute", ()), getattr(each, "value", None))
        self._limits = narrowed or self._limits
        return narrowed is not None

    def partitions(self) -> list[InputPartition]:
        """The tasks of the query."""
        leased = lease_of(self._options, shared=True)
        names = {"stream": leased.lease.stream, "topic": leased.lease.topic}
        found = scans(wanted_of(self._options, leased), self._limits, names)
        keep = self._options.control
        return list(tasks(self._options, leased, self._names, found, self._limits, keep=keep))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a task; Spark makes one without scans where there is nothing to read."""
        return read(partition, self._schema) if isinstance(partition, ScanPartition) else iter(())
