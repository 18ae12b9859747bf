"""The page for a full disk, followed step by step on file systems of 300 MB."""

import json
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.machine.small_disk import Ext4Disk, MountedDisk, SmallDisk
from tests.support.batches import batch
from tests.support.load_checker import check
from tests.support.load_record import LoadRecord
from tests.support.node import Node, Plan, free_address
from tests.support.topic_client import Place, TopicClient, base_offset, messages_in
from tests.support.waiting import until

BUSY = 58
BIG, MANY, PURGED = (Place("stream", topic) for topic in ("big", "many", "purged"))
PARTITIONS = 300
PURGED_BYTES = 20 << 20
LEFT_BYTES = 20 << 20
"""Of the disk, for messages: sending them takes its time."""


@pytest.fixture(params=["ext4", "tmpfs"])
def disk(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[MountedDisk]:
    """A file system of 300 MB."""
    if request.param == "ext4":
        with Ext4Disk(tmp_path) as image:
            yield image
    else:
        with SmallDisk(tmp_path) as memory:
            memory.resize("300m")
            yield memory


@pytest.fixture
def node(tmp_path: Path, disk: MountedDisk) -> Iterator[Node]:
    """A server on that disk, at addresses that it need not write down."""
    folder = tmp_path / "node"
    folder.mkdir()
    addresses = {"tcp.address": free_address(), "observe.address": free_address()}
    with Node(folder, Plan({"system.path": str(disk.path / "data"), **addresses})) as node:
        node.data = disk.path / "data"
        node.runtime = node.data / "runtime"
        node.endpoints = {name.split(".")[0]: address for name, address in addresses.items()}
        yield node


def launch(node: Node) -> None:
    """Starts the server, which may not be able to write where it listens."""
    node.launch()
    assert node.notify.wait_for("READY=1", node.process), f"not ready: {node.stderr()}{node.stdout()}"


def test_the_runbook_leads_out_of_a_full_disk(node: Node, disk: MountedDisk, root: Path) -> None:
    launch(node)
    record = LoadRecord()
    with TopicClient(node.connect_registered()) as client:
        make_topics(client)
        fill(client, node, disk, record)
        see_the_lack_of_space(node)
        follow_the_commands(node, root)
    assert node.terminate() == 0, "a stop on a full disk is an ordinary one"
    disk.fill()
    assert disk.free < 4096
    launch(node)
    unwritten = {Path(line["path"]).name for line in node.log("runtime_file_unwritten")}
    assert {"endpoints.json", "current_config.toml"} <= unwritten
    with TopicClient(node.connect_registered()) as client:
        check(client, BIG, record)
        client.purge_topic(PURGED)
        until(lambda: disk.free > PURGED_BYTES // 2, "a purge frees what it reports")
        disk.fill()
        client.delete_topic(MANY)
        until(lambda: node.counters().total("trash_bytes") == 0, "the trash is empty")
        disk.empty()
        node.wait_for_count(0, "partitions_waiting_for_space")
        content = batch([b"there is room"])
        assert client.send(BIG, 0, content, 1).status == 0
        until(lambda: not list((node.data / "trash").iterdir()), "folders without files go, too")
        until(lambda: bool(node.log("runtime_file_written")), "the files that found no room")
        until((node.runtime / "endpoints.json").exists, "the addresses")
        follow_the_commands(node, root)
        assert "degraded" not in json.loads(node.http("/ready"))
    assert node.terminate() == 0
    assert not list(node.data.rglob("*.new")), "what found no room has left nothing behind"


def test_the_trash_of_a_deleted_topic_is_emptied_while_there_is_room(node: Node) -> None:
    launch(node)
    with TopicClient(node.connect_registered()) as client:
        client.create_stream(BIG.stream)
        client.create_topic(BIG, 4, 1 << 20)
        dice = random.Random(2)
        for partition in range(4):
            assert client.send(BIG, partition, batch([dice.randbytes(200_000)]), 1).status == 0
        node.wait_for_count(0, "unflushed_bytes")
        until(lambda: len(list((node.data / "groups").rglob("*.log"))) == 4, "segments")
        client.delete_topic(BIG)
        until(lambda: not list((node.data / "groups").rglob("*.log")), "the partitions are out of the way")
        until(lambda: not list((node.data / "trash").iterdir()), "the trash is empty")
        node.wait_for_count(0, "trash_bytes")
    assert node.terminate() == 0


def test_a_removal_that_fails_is_told_and_retried(tmp_path: Path) -> None:
    folder = tmp_path / "node"
    folder.mkdir()
    with Ext4Disk(tmp_path) as disk, Node(folder, Plan({"system.path": str(disk.path / "data")})) as node:
        node.data = disk.path / "data"
        node.runtime = node.data / "runtime"
        node.start()
        with TopicClient(node.connect_registered()) as client:
            client.create_stream(BIG.stream)
            client.create_topic(BIG, 1, 1 << 20)
            assert client.send(BIG, 0, batch([bytes(1000)]), 1).status == 0
            until(lambda: bool(list((node.data / "groups").rglob("*.log"))), "a segment")
            subprocess.run(["chattr", "+i", node.data / "trash"], check=True)
            try:
                client.delete_topic(BIG)
                node.wait_for_log("removal_failed")
                node.wait_for_count(1, "removals_failing")
                ready = json.loads(node.http("/ready"))
                assert ready["ready"], ready
                assert "removals of files fail" in ready["degraded"][0]
            finally:
                subprocess.run(["chattr", "-i", node.data / "trash"], check=True)
            node.wait_for_log("removals_recovered")
            node.wait_for_count(0, "removals_failing")
            until(lambda: not list((node.data / "trash").iterdir()), "the trash is empty")
            assert "degraded" not in json.loads(node.http("/ready"))
        assert node.terminate() == 0


def make_topics(client: TopicClient) -> None:
    """One to fill the disk with, one of many partitions, one to be purged."""
    dice = random.Random(1)
    client.create_stream(BIG.stream)
    client.create_topic(BIG, 1, 16 << 20)
    client.create_topic(MANY, PARTITIONS, 16 << 20)
    client.create_topic(PURGED, 1, 1 << 20)
    for partition in range(PARTITIONS):
        send(client, MANY, partition, batch([dice.randbytes(50_000)]))
    content = batch([dice.randbytes(500_000)])
    for _ in range(PURGED_BYTES // 500_000):
        send(client, PURGED, 0, content)


def send(client: TopicClient, place: Place, partition: int, content: bytes) -> None:
    """Sends a batch until it is taken."""
    until(lambda: client.send(place, partition, content, 1).status == 0, "a send is taken")


def fill(client: TopicClient, node: Node, disk: MountedDisk, record: LoadRecord) -> None:
    """Sends until that is refused for want of space."""
    disk.fill(LEFT_BYTES)
    content = batch([random.Random(3).randbytes(200_000)])
    (message,) = messages_in(memoryview(content))

    def is_full() -> bool:
        reply = client.send(BIG, 0, content, 1)
        if reply.status == 0:
            record.know(0, base_offset(reply), message.digest)
            return False
        # A slow disk is waited for with the same word.
        return reply.status == BUSY and node.counters().total("partitions_waiting_for_space") > 0

    until(is_full, "the disk is full")
    disk.fill()
    until(lambda: client.send(BIG, 0, content, 1).status == BUSY, "sends are refused")


def see_the_lack_of_space(node: Node) -> None:
    """What the page says that an operator sees."""
    node.wait_for_log("space_short")
    node.wait_for_log("sends_refused_for_space")
    ready = json.loads(node.http("/ready"))
    assert ready["ready"], ready
    assert "sends are refused" in ready["degraded"][0]
    counters = node.counters()
    assert counters.total("refusing_sends") == 1
    assert counters.total("sends_refused_for_space_total") > 0


def follow_the_commands(node: Node, root: Path) -> None:
    """Every command of the page does what it says, with the paths and addresses of this server."""
    page = (root / "deploy/runbooks/disk-full.md").read_text()
    commands = re.findall(r"^ *\$ (.*)$", page, re.MULTILINE)
    assert len(commands) >= 6
    for command in commands:
        here = command.replace("DATA", str(node.data)).replace(
            "127.0.0.1:9464", str(node.endpoints["observe"])
        )
        here = here.replace("server-ng", str(Path(sys.executable).with_name("server-ng")))
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", here], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (here, done.stderr)
        assert done.stdout, here
