"""What becomes of a query whose server or topic goes while a task reads: the rows of its cut, or why not."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from tests.support.batches import batch
from tests.support.fixtures import LONG, StartNode
from tests.support.held_open import HeldOpen
from tests.support.node import Node
from tests.support.topic_client import Place, TopicClient
from tests.support.waiting import WAIT_MAX

PLACE = Place("orders", "events")
PER_BATCH = 8
PAYLOAD_BYTES = 12_000
SEGMENT_BYTES = 1 << 20

Row = tuple[int, bytes]


class Topic:
    """One partition of some segments, and a message more for each time it was filled."""

    def __init__(self, node: Node) -> None:
        self.node = node
        with self._client() as client:
            client.create_stream(PLACE.stream)
            client.create_topic(PLACE, 1, SEGMENT_BYTES)
        self.rows: list[Row] = []

    def _client(self) -> TopicClient:
        return TopicClient(self.node.connect_registered())

    def fill(self, generation: str, batches: int = 40) -> None:
        """Sends messages that say which generation they are of."""
        with self._client() as client:
            for _ in range(batches):
                at = len(self.rows)
                payloads = [
                    f"{generation}/{number} ".encode().ljust(PAYLOAD_BYTES, b"x")
                    for number in range(at, at + PER_BATCH)
                ]
                reply = client.send(PLACE, 0, batch(payloads, at + 1), PER_BATCH)
                assert reply.status == 0, reply
                self.rows += enumerate(payloads, at)

    def leased_segment(self) -> Path:
        """The second one, in the only lease there is."""
        return sorted((self.node.data / "leases").rglob("*.log"))[1]

    def purge(self) -> None:
        """What was there goes, and something else comes."""
        with self._client() as client:
            client.purge_topic(PLACE)
        self.rows = []
        self.fill("second", 3)

    def delete(self) -> None:
        """It goes."""
        with self._client() as client:
            client.delete_topic(PLACE)

    def make_again(self) -> None:
        """Another one of the same name comes."""
        self.delete()
        with self._client() as client:
            client.create_topic(PLACE, 1, SEGMENT_BYTES)
        self.rows = []
        self.fill("second", 3)

    def kill(self) -> None:
        """The server goes."""
        self.node.kill()

    def restart(self) -> None:
        """The server goes, and comes again."""
        self.node.kill()
        self.node.restart()


End = Callable[[Topic], None]
MORE_ENDS: Sequence[End] = [Topic.restart, Topic.make_again] if LONG else []
MADE_ANOTHER: Sequence[End] = [Topic.purge, Topic.make_again] if LONG else [Topic.purge]


@pytest.fixture
def topic(start_node: StartNode) -> Topic:
    """Of a server that is left alone."""
    made = Topic(start_node())
    made.fill("first")
    return made


def options(topic: Topic) -> dict[str, str]:
    return {
        "control": str(topic.node.endpoints["control"]),
        "subscribe": f"{PLACE.stream}/{PLACE.topic}",
        "columns": "offset,value",
        "cutIntervalMillis": "1",
    }


def rows(frame: DataFrame) -> list[Row]:
    return sorted((row["offset"], bytes(row["value"])) for row in frame.collect())


def interrupted(topic: Topic, frame: DataFrame, end: End) -> list[Row]:
    """The rows of a query that was in the middle of a task when that happened."""

    def interrupt(held: HeldOpen) -> None:
        with held:
            started.set()
            held.wait()
            end(topic)

    started = Event()
    with ThreadPoolExecutor(1) as pool:
        interrupting = pool.submit(interrupt, HeldOpen(topic.leased_segment()))
        assert started.wait(WAIT_MAX)
        found = rows(frame)
        interrupting.result()
    return found


@pytest.mark.parametrize("end", [Topic.kill, Topic.purge, Topic.delete, *MORE_ENDS])
def test_a_query_has_the_rows_of_its_cut(spark: SparkSession, topic: Topic, end: End) -> None:
    before = topic.rows[:]
    frame = spark.read.format("server_ng").options(**options(topic)).load()
    assert rows(frame) == before, "and the next query reads the same lease"
    assert interrupted(topic, frame, end) == before


class Following:
    """A query that is interrupted in its first micro-batch."""

    def __init__(self, spark: SparkSession, topic: Topic, folder: Path, end: End) -> None:
        self.spark, self.topic, self.folder, self.end = spark, topic, folder, end
        self.batches: dict[int, list[Row]] = {}

    def start(self, **how: str) -> StreamingQuery:
        """Runs it, from where it was."""
        frame = self.spark.readStream.format("server_ng").options(**options(self.topic), **how).load()
        return (
            frame.writeStream.foreachBatch(self._take)
            .option("checkpointLocation", str(self.folder / "checkpoint"))
            .start()
        )

    def _take(self, frame: DataFrame, number: int) -> None:
        first = not self.batches
        self.batches[number] = interrupted(self.topic, frame, self.end) if first else rows(frame)


@pytest.fixture
def follow(spark: SparkSession, topic: Topic, tmp_path: Path) -> Iterator[Callable[[End], Following]]:
    """Makes queries that end with the test."""
    yield lambda end: Following(spark, topic, tmp_path, end)
    for query in spark.streams.active:
        query.stop()


@pytest.mark.parametrize(
    ("end", "says"),
    [
        (Topic.delete, "has no topic"),
        *((end, "was purged, or deleted and made again") for end in MADE_ANOTHER),
    ],
)
def test_a_stream_ends_its_micro_batch_and_says_what_happened(
    topic: Topic, follow: Callable[[End], Following], end: End, says: str
) -> None:
    before = topic.rows[:]
    following = follow(end)
    query = following.start()
    with pytest.raises(StreamingQueryException, match=says):
        query.processAllAvailable()
    assert following.batches == {0: before}


def test_a_stream_goes_on_where_it_was_when_its_server_comes_back(
    topic: Topic, follow: Callable[[End], Following]
) -> None:
    following = follow(Topic.kill)
    with pytest.raises(StreamingQueryException, match="no server listens on"):
        following.start().processAllAvailable()
    topic.node.restart()
    topic.fill("first", 2)
    following.start().processAllAvailable()
    found = [row for number in sorted(following.batches) for row in following.batches[number]]
    assert found == topic.rows


@pytest.mark.parametrize("end", MADE_ANOTHER)
def test_a_stream_that_begins_anew_mixes_nothing(
    topic: Topic, follow: Callable[[End], Following], end: End
) -> None:
    before = topic.rows[:]
    following = follow(end)
    following.start(onTopicChange="earliest").processAllAvailable()
    first, *others = (following.batches[number] for number in sorted(following.batches))
    assert first == before
    assert [row for batch in others for row in batch] == topic.rows
