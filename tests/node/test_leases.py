"""Leases: what a cut holds, how long, and what a job is told that asks for what cannot be."""

import json
import stat
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path

import pytest

from server_ng.segments.lease import Lease
from tests.support.batches import batch
from tests.support.control import Control
from tests.support.fixtures import BACKENDS, StartNode
from tests.support.lease_command import lease_command, run_lease
from tests.support.leased_messages import leased_messages
from tests.support.node import Node
from tests.support.topic_client import Message, Place, TopicClient
from tests.support.waiting import until

PLACE = Place("stream", "topic")
PARTITIONS = 3
SHARDS = {"system.sharding.cpu_allocation": "2", "system.sharding.pin_cores": "false"}


def control(node: Node) -> Control:
    """A job's connection."""
    return Control(node.endpoints["control"])


def topic_client(node: Node) -> TopicClient:
    """A client's connection."""
    return TopicClient(node.connect_registered())


def send(client: TopicClient, partition: int, name: str, count: int = 5) -> None:
    """Sends a batch that is told from every other."""
    payloads = [f"{name}-{number}".encode() * 40 for number in range(count)]
    reply = client.send(PLACE, partition, batch(payloads), count)
    assert reply.status == 0, reply


def polled(client: TopicClient) -> dict[int, list[Message]]:
    """The messages of each partition as a consumer gets them."""
    return {partition: client.poll(PLACE, partition, 0, 10_000, 1) for partition in range(PARTITIONS)}


@pytest.fixture
def node(start_node: StartNode, request: pytest.FixtureRequest) -> Node:
    """A server of two shards with messages in two of three partitions."""
    backend = getattr(request, "param", "auto")
    node = start_node(settings={**SHARDS, "system.io.backend": backend})
    with topic_client(node) as client:
        client.create_stream(PLACE.stream)
        client.create_topic(PLACE, PARTITIONS, 1 << 20)
        for number in range(4):
            send(client, 0, f"a{number}")
            send(client, 2, f"b{number}")
    return node


@pytest.fixture
def job(node: Node) -> Iterator[Control]:
    """A job that is connected."""
    with control(node) as connection:
        yield connection


@pytest.mark.parametrize("node", BACKENDS, indirect=True)
def test_a_cut_holds_what_was_acknowledged_and_stays_so(node: Node, job: Control) -> None:
    with topic_client(node) as client:
        before = polled(client)
        path = job.cut(PLACE.stream, PLACE.topic)
        assert leased_messages(path) == before
        assert [len(messages) for messages in before.values()] == [20, 0, 20]
        send(client, 0, "later")
        client.purge_topic(PLACE)
        send(client, 0, "after the purge")
        purged = job.cut(PLACE.stream, PLACE.topic)
        assert leased_messages(purged) == polled(client)
        client.delete_topic(PLACE)
    assert leased_messages(path) == before
    first, second = Lease.read(path), Lease.read(purged)
    assert first.cluster == second.cluster
    assert [cut.group_id for cut in first.partitions] == [cut.group_id for cut in second.partitions]
    assert [cut.purge_generation for cut in second.partitions] == [1] * PARTITIONS
    listed = {each["lease"] for each in job.ask("leases")["leases"]}
    assert listed == {first.lease, second.lease}
    for lease in listed:
        assert job.ask("release", lease=lease)["ok"]
    assert not list(path.parent.iterdir())
    assert job.ask("leases") == {"ok": True, "leases": [], "bytes": 0}


def test_a_partition_that_is_written_to_without_pause_is_cut_at_once(node: Node, job: Control) -> None:
    stop = threading.Event()

    def produce(number: int) -> None:
        with topic_client(node) as client:
            while not stop.is_set():
                send(client, 0, f"more{number}", count=50)

    with ThreadPoolExecutor(3) as producers:
        under_way = [producers.submit(produce, number) for number in range(3)]
        try:
            answers = [job.ask("cut", stream=PLACE.stream, topic=PLACE.topic, ttl=600) for _ in range(20)]
        finally:
            stop.set()
        for each in under_way:
            each.result()
    assert [answer for answer in answers if not answer["ok"]] == []
    commits = [Lease.read(Path(answer["path"])).partitions[0].commit_offset or 0 for answer in answers]
    assert commits == sorted(commits)
    assert commits[0] < commits[-1], "messages came meanwhile"


def test_a_cut_of_some_partitions_holds_these(node: Node, job: Control) -> None:
    path = job.cut(PLACE.stream, PLACE.topic, partitions=[2, 1])
    with topic_client(node) as client:
        expected = polled(client)
    assert leased_messages(path) == {partition: expected[partition] for partition in (1, 2)}


def test_a_lease_outlives_the_server_that_made_it(node: Node) -> None:
    with topic_client(node) as client:
        before = polled(client)
    with control(node) as job:
        kept = job.cut(PLACE.stream, PLACE.topic)
        ending = job.cut(PLACE.stream, PLACE.topic)
        assert job.ask("renew", lease=ending.name, ttl=0.001)["ok"]
    half_made = kept.parent / "half-made"
    (half_made / "0000000000001000").mkdir(parents=True)
    (half_made / "0000000000001000" / "00000000000000000000.log").write_bytes(b"x")
    node.kill()
    assert leased_messages(kept) == before
    node.restart()
    with control(node) as job:
        assert [each["lease"] for each in job.ask("leases")["leases"]] == [kept.name]
        assert leased_messages(kept) == before
        assert not half_made.exists()
        assert not ending.exists()
        assert job.ask("release", lease=kept.name)["ok"]
    assert not kept.exists()


def test_a_lease_ends_by_itself_unless_it_is_renewed(node: Node, job: Control) -> None:
    ended, kept = (job.cut(PLACE.stream, PLACE.topic) for _ in range(2))
    assert job.ask("renew", lease=ended.name, ttl=0.01)["ok"]
    until(lambda: not ended.exists(), "the lease ends")
    assert kept.exists()
    assert job.ask("renew", lease=ended.name, ttl=60)["error"] == "unknown_lease"
    node.wait_for_count(1, "leases_expired_total")


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"stream": "none"}, "unknown_stream"),
        ({"topic": "none"}, "unknown_topic"),
        ({"partitions": [0, 3]}, "unknown_partition"),
        ({"partitions": []}, "bad_request"),
        ({"partitions": [True]}, "bad_request"),
        ({"ttl": 0}, "bad_request"),
        ({"ttl": 1e9}, "bad_request"),
        ({"ttl": "60"}, "bad_request"),
        ({"stream": None}, "bad_request"),
        ({"colour": "red"}, "bad_request"),
    ],
)
def test_what_cannot_be_cut_is_refused(job: Control, fields: dict[str, object], error: str) -> None:
    asked: dict[str, object] = {"stream": PLACE.stream, "topic": PLACE.topic, "ttl": 60, **fields}
    answer = job.ask("cut", **asked)
    assert (answer["ok"], answer["error"]) == (False, error)
    assert answer["message"].endswith(".")
    assert job.ask("leases")["leases"] == [], "and the connection goes on"


@pytest.mark.parametrize(
    "line", [b"\n", b"nonsense\n", b"[]\n", b'{"verb": "eat"}\n', b"\xff\xfe\n", b"1" * 99 + b"\n"]
)
def test_a_line_that_is_no_request_is_refused(job: Control, line: bytes) -> None:
    job.say(line)
    assert job.hear()["error"] == "bad_request"
    assert job.ask("leases")["ok"]


def test_a_line_without_an_end_is_cut_off(job: Control) -> None:
    job.say(b"x" * (1 << 20) + b"x")
    assert job.hear()["error"] == "bad_request"
    assert job.hear() == {}


def test_leases_are_bounded(start_node: StartNode) -> None:
    node = start_node(settings={"leases.count_max": "2", "leases.bytes_max": "1 MiB"})
    with topic_client(node) as client, control(node) as job:
        client.create_stream(PLACE.stream)
        client.create_topic(PLACE, PARTITIONS, 1 << 20)
        send(client, 0, "a")
        job.cut(PLACE.stream, PLACE.topic)
        for number in range(4):
            send(client, 0, f"{number}" * 8_000, 1)
        again = job.ask("cut", stream=PLACE.stream, topic=PLACE.topic, ttl=60)
        assert again["error"] == "budget"
        assert "leases.bytes_max" in again["message"]
        job.cut(PLACE.stream, PLACE.topic, partitions=[1])
        many = job.ask("cut", stream=PLACE.stream, topic=PLACE.topic, ttl=60, partitions=[1])
        assert many["error"] == "budget"
        assert "leases.count_max" in many["message"]
        assert len(list((node.data / "leases").iterdir())) == 2


def test_the_socket_is_for_this_user_and_goes_with_the_server(node: Node) -> None:
    path = Path(node.endpoints["control"])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert node.terminate() == 0
    assert not path.exists()


def test_without_leases_there_is_no_socket(start_node: StartNode) -> None:
    node = start_node(settings={"leases.enabled": "false"})
    assert "control" not in node.endpoints
    assert not (node.runtime / "control.sock").exists()


@pytest.mark.parametrize("end", ["runs", "stopped", "killed"])
def test_the_command_cuts_whether_the_server_runs_or_not(node: Node, end: str) -> None:
    with topic_client(node) as client:
        before = polled(client)
    match end:
        case "stopped":
            assert node.terminate() == 0
        case "killed":
            node.kill()
    made = lease_command(node.data, "cut", PLACE.stream, PLACE.topic, "--json", "--ttl", "600")
    assert made.returncode == 0, made.stderr
    path = Path(json.loads(made.stdout)["path"])
    assert leased_messages(path) == before
    refused = lease_command(node.data, "cut", PLACE.stream, "none")
    assert (refused.returncode, refused.stdout) == (78, "")
    assert "has no topic 'none'." in refused.stderr
    listed = lease_command(node.data, "list", "--json")
    (lease,) = json.loads(listed.stdout)
    assert lease["lease"] == path.name
    if end == "runs":
        # Without a server each command takes seconds; the table is the same.
        _, row = lease_command(node.data, "list").stdout.splitlines()
        assert datetime.fromisoformat(row.split("\t")[-1]).timestamp() == lease["expires"] // 1_000_000
    assert lease_command(node.data, "release", path.name).returncode == 0
    assert not path.exists()
    if end != "runs":
        assert refused.stderr.count("\n") == 1, refused.stderr
        node.restart()
        with topic_client(node) as client:
            assert polled(client) == before


def test_the_command_says_where_there_is_no_server(tmp_path: Path) -> None:
    ended = run_lease(["list"], {"system.path": str(tmp_path)})
    assert ended.returncode == 78
    assert "it is not a data directory" in ended.stderr
    assert list(tmp_path.iterdir()) == []
