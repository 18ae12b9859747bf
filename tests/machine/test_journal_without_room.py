"""A journal that needs a further file on a disk without room for one."""

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError

import pytest

from tests.machine.small_disk import SmallDisk
from tests.support.node import FRAME_BYTES_MAX, Node, Plan, free_address
from tests.support.topic_client import Place, TopicClient
from tests.support.waiting import until

TOPICS, PARTITIONS = 3, 1_000
"""A start writes a view of each partition: together more than the rest of two files."""


@pytest.fixture
def node(tmp_path: Path, small_disk: SmallDisk) -> Iterator[Node]:
    """A server on that disk with one journal, at addresses that it need not write down."""
    folder = tmp_path / "node"
    folder.mkdir()
    small_disk.resize("64m")
    observe = free_address()
    settings = {"system.path": str(small_disk.path / "data"), "observe.address": observe}
    with Node(folder, Plan({**settings, "system.sharding.cpu_allocation": "1"})) as node:
        node.data = small_disk.path / "data"
        node.runtime = node.data / "runtime"
        node.start()
        yield node


def journal_files(node: Node) -> int:
    """How many files of the journal are whole."""
    paths = (node.data / "shards").rglob("journal-*")
    return sum(path.stat().st_size > 2 * FRAME_BYTES_MAX for path in paths)


def unready_reasons(node: Node) -> list[str]:
    """Why the server is not ready."""
    with pytest.raises(HTTPError) as answer:
        node.http("/ready")
    with answer.value as page:
        reasons: list[str] = json.load(page)["reasons"]
    return reasons


def test_a_start_without_room_for_its_journal_says_what_it_waits_for(
    node: Node, small_disk: SmallDisk
) -> None:
    until(lambda: journal_files(node) == 2, "the second file")
    small_disk.fill()
    with TopicClient(node.connect_registered()) as client:
        client.create_stream("stream")
        for number in range(TOPICS):
            client.create_topic(Place("stream", f"topic-{number}"), PARTITIONS, 1 << 20)
    node.kill()
    node.launch()
    stuck = node.wait_for_log("journal_stuck")
    assert stuck["bytes"] > 2 * FRAME_BYTES_MAX
    assert "Make room on the file system" in stuck["message"]
    starting, reason = unready_reasons(node)
    assert "starting" in starting
    assert f"needs {stuck['bytes']} bytes of disk space" in reason
    assert node.terminate() == 0, "a stop does not wait for room"
    node.launch()
    node.wait_for_log("journal_stuck")
    small_disk.resize("128m")
    assert node.notify.wait_for("READY=1", node.process)
    node.wait_for_log("journal_freed")
    node.read_endpoints()
    assert json.loads(node.http("/ready"))["reasons"] == []
    with TopicClient(node.connect_registered()) as client:
        client.create_topic(Place("stream", "more"), 1, 1 << 20)
    assert node.terminate() == 0
