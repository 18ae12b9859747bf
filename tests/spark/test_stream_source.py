"""Following a topic: each micro-batch a cut, each message once, and never two topics taken for one."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.datasource import ReadMinRows
from pyspark.sql.streaming.query import StreamingQuery

from server_ng.spark.options import Options
from server_ng.spark.schema import declared
from server_ng.spark.streaming import TopicStreamReader
from tests.spark.cutting_server import CuttingServer
from tests.spark.topics import sealed


@pytest.fixture
def server(tmp_path: Path) -> Iterator[CuttingServer]:
    """A topic with 30 messages in two partitions."""
    with CuttingServer(tmp_path / "server") as running:
        running.holds({0: [sealed(0, 20)], 1: [sealed(0, 10, partition=1, group=8)]}, groups={0: 7, 1: 8})
        yield running


class Following:
    """Runs of one query over one checkpoint."""

    def __init__(self, spark: SparkSession, server: CuttingServer, folder: Path) -> None:
        self.spark, self.server, self.folder = spark, server, folder

    def run(self, **options: str) -> StreamingQuery:
        """Reads what is there, and ends."""
        chosen = {"control": str(self.server.control), "subscribe": "orders/events"}
        frame = self.spark.readStream.format("server_ng").options(**{**chosen, **options}).load()
        query = (
            frame.select("partition", "offset", "value")
            .writeStream.format("parquet")
            .option("checkpointLocation", str(self.folder / "checkpoint"))
            .trigger(availableNow=True)
            .start(str(self.folder / "out"))
        )
        query.awaitTermination()
        return query

    def places(self) -> list[tuple[int, int]]:
        """What was read so far."""
        rows = self.spark.read.parquet(str(self.folder / "out")).collect()
        return sorted((row["partition"], row["offset"]) for row in rows)


@pytest.fixture
def following(spark: SparkSession, server: CuttingServer, tmp_path: Path) -> Following:
    """A query that has not run."""
    return Following(spark, server, tmp_path)


def every(counts: dict[int, int]) -> list[tuple[int, int]]:
    return [(partition, offset) for partition, count in counts.items() for offset in range(count)]


def test_each_message_once_across_runs_and_growth(following: Following) -> None:
    following.run()
    assert following.places() == every({0: 20, 1: 10})
    assert following.server.held() == [f"cut-{following.server.cuts}"]
    following.server.holds(
        {
            0: [sealed(0, 20), sealed(20, 5)],
            1: [sealed(0, 10, partition=1, group=8)],
            2: [sealed(0, 3, partition=2, group=9)],
        },
        groups={0: 7, 1: 8, 2: 9},
    )
    query = following.run()
    assert following.places() == every({0: 25, 1: 10, 2: 3})
    (progress,) = [each for each in query.recentProgress if each["numInputRows"]]
    assert progress["numInputRows"] == 8
    following.run()
    assert following.places() == every({0: 25, 1: 10, 2: 3})


@pytest.mark.parametrize("limit", [{"maxOffsetsPerTrigger": "7"}, {"maxBytesPerTrigger": "600"}])
def test_a_limit_spreads_it_over_micro_batches(following: Following, limit: dict[str, str]) -> None:
    query = following.run(**limit)
    batches = [each["numInputRows"] for each in query.recentProgress if each["numInputRows"]]
    assert len(batches) >= 3
    assert sum(batches) == 30
    assert max(batches) <= 12
    assert following.places() == every({0: 20, 1: 10})


def test_it_begins_where_it_was_told(following: Following) -> None:
    following.run(startingOffsets='{"0": 18, "1": -1}')
    assert following.places() == [(0, 18), (0, 19)]


def failure(following: Following, **options: str) -> str:
    with pytest.raises(PySparkException) as caught:
        following.run(**options)
    return str(caught.value)


@pytest.mark.parametrize(("group", "purge"), [(7, 1), (77, 0)])
def test_a_purged_or_recreated_topic_is_never_mixed(following: Following, group: int, purge: int) -> None:
    following.run()
    before = following.places()
    again = {0: [sealed(0, 4, group=group)], 1: [sealed(0, 10, partition=1, group=8)]}
    following.server.holds(again, groups={0: group, 1: 8}, purge_generation=purge)
    assert "was purged, or deleted and made again" in failure(following)
    assert following.places() == before
    following.run(onTopicChange="earliest")
    anew = 10 if purge else 0
    assert following.places() == sorted([*before, *every({0: 4, 1: anew})])


def test_what_was_deleted_before_it_was_read(following: Following) -> None:
    following.run()
    following.server.holds(
        {0: [sealed(30, 5)], 1: [sealed(0, 10, partition=1, group=8)]}, groups={0: 7, 1: 8}
    )
    assert "offsets from 20 to 29 were deleted before" in failure(following)
    following.run(failOnDataLoss="false")
    assert following.places() == sorted([*every({0: 20, 1: 10}), *((0, offset) for offset in range(30, 35))])


def test_a_partition_that_vanished(following: Following) -> None:
    following.run()
    following.server.holds({0: [sealed(0, 21)]}, groups={0: 7})
    assert "partition 1 of orders/events was deleted" in failure(following)
    following.run(failOnDataLoss="false")
    assert following.places() == every({0: 21, 1: 10})


def test_a_server_that_refuses_is_quoted(following: Following) -> None:
    following.server.refusal = ("unknown_topic", "There is no topic events in orders.")
    assert "There is no topic events in orders." in failure(following)


def test_a_topic_that_nobody_writes_to_is_cut_now_and_then(
    server: CuttingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr("server_ng.spark.streaming.time.monotonic", lambda: now)
    options = Options.parse(
        {"control": str(server.control), "subscribe": "orders/events", "cutIntervalMillis": "500"}
    )
    reader = TopicStreamReader(options, declared(options))
    everything = reader.getDefaultReadLimit()
    at = reader.initialOffset()
    for _ in range(50):
        at = reader.latestOffset(at, everything)
    assert server.cuts == 1
    now += 0.5
    server.holds({0: [sealed(0, 21)], 1: [sealed(0, 10, partition=1, group=8)]}, groups={0: 7, 1: 8})
    assert reader.latestOffset(at, everything)["partitions"]["0"]["offset"] == "21"
    assert server.cuts == 2
    reader.stop()
    assert server.held() == []


@pytest.mark.parametrize(("delay", "rows"), [("1h", 0), ("0ms", 30)])
def test_a_batch_waits_for_messages_and_not_for_ever(server: CuttingServer, delay: str, rows: int) -> None:
    chosen = {"control": str(server.control), "subscribe": "orders/events"}
    options = Options.parse({**chosen, "minOffsetsPerTrigger": "31", "maxTriggerDelay": delay})
    reader = TopicStreamReader(options, declared(options))
    begun = reader.initialOffset()
    taken = reader.latestOffset(begun, reader.getDefaultReadLimit())
    assert sum(end - start for start, end in zip(offsets(begun), offsets(taken), strict=True)) == rows
    assert reader.latestOffset(taken, ReadMinRows(31 - rows)) == taken
    reader.stop()


def offsets(progress: dict[str, Any]) -> list[int]:
    """Of the partitions, in order."""
    return [int(point["offset"]) for _, point in sorted(progress["partitions"].items())]
