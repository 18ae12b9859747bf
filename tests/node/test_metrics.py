"""Each figure moves when that happens which it counts."""

import signal
import struct
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from server_ng.observe.catalogue import CONTROL_METRICS
from server_ng.observe.metrics import SERIES_CUT, exported
from server_ng.wire.tables import METRICS
from tests.support.batches import batch, by_number, name8, number, send_body
from tests.support.fixtures import StartNode
from tests.support.node import Node, Plan, faulty
from tests.support.topic_client import Place, TopicClient
from tests.support.waiting import until

_PLACE = Place("stream", "topic")
_SHARDS = {"system.sharding.cpu_allocation": "2", "system.sharding.pin_cores": "false"}
_CONSUMER = struct.pack("<B", 1) + number(9)
_TOPIC = number(0) + number(0)
_PARTITION = struct.pack("<BI", 1, 0)


@pytest.fixture
def node(start_node: StartNode) -> Node:
    """A server of two shards with a topic of two partitions."""
    node = start_node(Plan(settings=_SHARDS))
    with TopicClient(node.connect_registered()) as client:
        client.create_stream(_PLACE.stream)
        client.create_topic(_PLACE, 2, 1 << 20)
    return node


@pytest.fixture
def client(node: Node) -> Iterator[TopicClient]:
    """A client with a session there."""
    with TopicClient(node.connect_registered()) as client:
        yield client


def send(client: TopicClient, payloads: list[bytes], partition: int = 0) -> int:
    """Sends a batch; returns its bytes."""
    content = batch(payloads)
    body = send_body(number(0), number(0), by_number(partition), content, len(payloads))
    assert client.ask(101, body).status == 0
    return len(content)


def is_taken(client: TopicClient, content: bytes) -> bool:
    """Sends a batch of one message, which a small journal may ask to send again."""
    status = client.send(_PLACE, 0, content, 1).status
    assert status in (0, 58)
    return status == 0


def poll(client: TopicClient) -> int:
    """Polls from the first message on; returns the status."""
    return client.ask(100, _CONSUMER + _TOPIC + struct.pack("<BIBQIB", 1, 0, 3, 0, 10, 0)).status


def requests(node: Node, name: str) -> float:
    """How many requests of a class were timed."""
    return node.counters().total("request_seconds_count", **{"class": name})


def test_the_page_has_every_metric_that_is_told_of_and_no_other(node: Node) -> None:
    told = {exported(metric.name): metric.kind for metric in METRICS}
    told |= {exported(metric.name): metric.kind for metric in CONTROL_METRICS.values()}
    told[exported(SERIES_CUT.name)] = SERIES_CUT.kind
    # There was no crash.
    del told[exported("last_crash_timestamp_seconds")]
    page = node.http("/metrics")
    lines = (line.split(" ") for line in page.splitlines() if line.startswith("# TYPE "))
    found = {name: kind for _, _, name, kind in lines if not name.startswith("process_")}
    assert found == told


def test_messages_are_counted_in_and_out(node: Node, client: TopicClient) -> None:
    written = send(client, [b"a", b"bb", b"ccc"]) + send(client, [b"d"], partition=1)
    counters = node.counters()
    assert counters.total("messages_appended_total") == 4
    assert counters.total("message_bytes_appended_total") == written
    assert counters.total("messages_polled_total") == 0
    assert poll(client) == 0
    counters = node.counters()
    assert counters.total("messages_polled_total") == 3
    assert counters.total("message_bytes_polled_total") > 0


def test_what_is_refused_was_not_appended(node: Node, client: TopicClient) -> None:
    content = bytearray(batch([b"a"]))
    content[-1] ^= 1
    body = send_body(number(0), number(0), by_number(0), bytes(content), 1)
    assert client.ask(101, body).status != 0
    counters = node.counters()
    assert counters.total("messages_appended_total") == 0
    assert counters.total("replies_total", outcome="denied") == 1


@pytest.mark.parametrize(
    ("name", "code", "body"),
    [
        ("offset", 121, _CONSUMER + _TOPIC + _PARTITION + struct.pack("<QB", 0, 1)),
        ("offset", 120, _CONSUMER + _TOPIC + _PARTITION),
        ("poll", 100, _CONSUMER + _TOPIC + struct.pack("<BIBQIB", 1, 0, 3, 0, 10, 0)),
        ("metadata", 200, number(0)),
        ("metadata", 202, name8("another")),
        ("own", 1, b""),
    ],
)
def test_each_request_is_timed_once_in_its_class(
    node: Node, client: TopicClient, name: str, code: int, body: bytes
) -> None:
    send(client, [b"a"])
    before = {other: requests(node, other) for other in ("send", "poll", "offset", "metadata", "own")}
    assert client.ask(code, body).status == 0
    after = {other: requests(node, other) for other in before}
    assert after == before | {name: before[name] + 1}
    assert node.counters().total("request_seconds_sum") > 0


def test_logins_are_timed(node: Node) -> None:
    before = requests(node, "session")
    with node.connect_registered():
        assert requests(node, "session") == before + 1


def test_each_block_of_the_journal_is_measured_and_its_sync_timed(node: Node, client: TopicClient) -> None:
    before = node.counters()
    for _ in range(5):
        send(client, [b"a"])
    after = node.counters()
    for name in ("journal_block_bytes_count", "journal_sync_seconds_count"):
        assert after.total(name) >= before.total(name) + 5
    # Direct writes are whole pages.
    grown = after.total("journal_block_bytes_sum") - before.total("journal_block_bytes_sum")
    assert grown >= 5 * 4096


def test_what_waits_for_a_segment_is_shown_until_it_is_there(node: Node, client: TopicClient) -> None:
    counters = node.counters()
    assert counters.total("journal_live_bytes") > 0
    assert counters.total("journal_live_bytes_max") > counters.total("journal_live_bytes")
    assert counters.total("journal_files") >= 2
    # The metadata's and one of each partition.
    assert counters.total("groups_open") == 3
    send(client, [b"x" * 100_000])
    until(lambda: node.counters().total("unflushed_bytes") == 0, "an empty memory")
    assert any(file.stat().st_size > 100_000 for file in node.data.glob("groups/*/*/*.log"))


def test_partitions_come_and_go_and_the_revision_is_reached(node: Node, client: TopicClient) -> None:
    counters = node.counters()
    assert counters.total("partitions_materialised_total") == 2
    wanted = counters.total("reconcile_revision_wanted")
    assert counters.total("reconcile_revision_reached") == wanted > 0
    assert counters.total("reconcile_lag_seconds") == 0
    client.delete_topic(_PLACE)
    node.wait_for_count(2, "partitions_removed_total")
    node.wait_for_count(wanted + 1, "reconcile_revision_reached")
    assert node.counters().total("data_disk_free_bytes") > 0


def test_damage_that_a_poll_met_is_shown_until_it_is_gone(node: Node) -> None:
    with TopicClient(node.connect_registered()) as client:
        # The segment of the first messages is full then, and no start looks into it.
        for _ in range(4):
            until(partial(is_taken, client, batch([b"x" * 400_000])), "a batch that is taken")
        until(lambda: node.counters().total("unflushed_bytes") == 0, "an empty memory")
    assert node.terminate() == 0
    (first, *_) = sorted(file for file in node.data.glob("groups/*/*/*.log") if file.stat().st_size > 400_000)
    _rot(first, 5_000)
    node.start()
    with TopicClient(node.connect_registered()) as client:
        assert poll(client) in (4027, 4039)
        assert poll(client) in (4027, 4039)
        counters = node.counters()
        assert counters.total("damaged_polls_total") == 2
        assert counters.total("damaged_partitions") == counters.total("damaged_ranges") == 1
        named = {"stream": _PLACE.stream, "topic": _PLACE.topic, "partition": "0"}
        (told,) = node.log("messages_damaged")
        assert {key: str(told[key]) for key in named} == named
        fenced = node.wait_for_log("messages_fenced")
        assert fenced["first_offset"] == fenced["last_offset"] == told["offset"]
        assert {key: str(fenced[key]) for key in named} == named
        assert fenced["file"] == str(first)
        client.purge_topic(_PLACE)
        assert poll(client) == 0
        counters = node.counters()
        assert counters.total("damaged_partitions") == counters.total("damaged_ranges") == 0


def test_messages_that_are_in_memory_alone_are_not_called_damaged(node: Node, client: TopicClient) -> None:
    for kind in (2, 1, 3, 4):
        send(client, [b"x"])
        body = _CONSUMER + _TOPIC + struct.pack("<BIBQIB", 1, 0, kind, 0, 10, 0)
        assert client.ask(100, body).status == 0
    counters = node.counters()
    assert counters.total("damaged_partitions") == counters.total("damaged_polls_total") == 0
    assert list(node.log("messages_damaged")) == []


def test_a_crash_is_shown_by_the_run_after_it(start_node: StartNode) -> None:
    node = start_node(faulty("panic 0"))
    node.signal(signal.SIGUSR1)
    assert node.wait() == 70
    at = node.last_crash()["at_micros"] / 1_000_000
    node.start()
    assert node.counters().total("last_crash_timestamp_seconds", status="70") == pytest.approx(at)


def test_of_many_shards_the_longest_metrics_are_summed_up(start_node: StartNode) -> None:
    node = start_node(
        Plan(settings={"system.sharding.cpu_allocation": "8", "system.sharding.pin_cores": "false"})
    )
    with node.connect_registered() as client:
        client.ping()
    counters = node.counters()
    assert counters.shards() == {"all", *map(str, range(8))}
    assert counters.total("metric_series_cut") == 0
    assert counters.total("journal_live_bytes_max", shard="7") > 0
    assert counters.total("requests_total") >= 2
    assert counters.total("request_seconds_count", shard="all", **{"class": "own"}) == 1


def _rot(file: Path, at: int) -> None:
    with file.open("r+b") as stream:
        stream.seek(at)
        byte = stream.read(1)
        stream.seek(at)
        stream.write(bytes([byte[0] ^ 1]))
