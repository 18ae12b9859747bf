"""A lease that ends, and a server that goes, while a query reads."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from server_ng.segments.damage import SegmentReadError
from server_ng.segments.lease import LeaseError
from server_ng.spark.options import Options
from server_ng.spark.schema import declared
from server_ng.spark.source import TopicReader
from tests.spark.cutting_server import CuttingServer
from tests.spark.topics import sealed


@pytest.fixture
def server(tmp_path: Path) -> Iterator[CuttingServer]:
    """Two segments, which share a task."""
    with CuttingServer(tmp_path / "server") as running:
        running.holds({0: [sealed(0, 20), sealed(20, 13)]})
        yield running


def reading(server: CuttingServer, **options: str) -> Iterator[pa.RecordBatch]:
    """The rows of the one task of a query that was planned."""
    found = Options.parse({"control": str(server.control), "subscribe": "orders/events", **options})
    reader = TopicReader(found, declared(found))
    (task,) = reader.partitions()
    return reader.read(task)


def test_a_lease_that_ends_before_its_tasks_is_told_by_file(server: CuttingServer) -> None:
    rows = reading(server)
    shutil.rmtree(server.leases / "cut-1")
    with pytest.raises(SegmentReadError, match=r"0000\.log: it cannot be opened: No such file"):
        list(rows)


@pytest.mark.parametrize("skip", ["fail", "skip"])
def test_a_lease_that_ends_in_the_middle_loses_nothing_in_silence(server: CuttingServer, skip: str) -> None:
    rows = reading(server, batchRows="4", onDamage=skip)
    read = [next(rows).num_rows]
    shutil.rmtree(server.leases / "cut-1")
    # A segment that is open is read to its end; a file that is gone is no damage.
    with pytest.raises(SegmentReadError, match=r"00000000000000000020\.log"):
        read.extend(batch.num_rows for batch in rows)
    assert sum(read) == 20


@pytest.mark.parametrize("purge", [0, 1])
def test_what_becomes_of_the_topic_is_not_seen_by_a_query(server: CuttingServer, purge: int) -> None:
    rows = reading(server, batchRows="4")
    read = next(rows).num_rows
    server.holds({0: []}, purge_generation=purge)
    server.refusal = ("stopping", "The server is stopping.")
    server.control.unlink()
    assert read + sum(batch.num_rows for batch in rows) == 33


def test_a_directory_of_a_lease_that_has_ended(server: CuttingServer) -> None:
    path = server.leases / str(server.answer({"verb": "cut", "partitions": None})["lease"])
    shutil.rmtree(path)
    found = Options.parse({"path": str(path)})
    with pytest.raises(LeaseError, match="or one that has ended"):
        TopicReader(found, declared(found)).partitions()
