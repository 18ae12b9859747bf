"""A data directory on a disk without room for it."""

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.machine.small_disk import SmallDisk
from tests.support.batches import batch
from tests.support.control import Control
from tests.support.load import send_batch
from tests.support.load_checker import check
from tests.support.load_record import LoadRecord
from tests.support.node import FRAME_BYTES_MAX, Node, Plan
from tests.support.topic_client import Place, TopicClient, base_offset, messages_in
from tests.support.waiting import until

BUSY = 58
JOURNAL_IO = 74
PLACE = Place("stream", "topic")


@pytest.fixture
def node(tmp_path: Path, small_disk: SmallDisk) -> Iterator[Node]:
    """A server on that disk, which is not running yet."""
    folder = tmp_path / "node"
    folder.mkdir()
    with Node(folder, Plan({"system.path": str(small_disk.path / "data")})) as node:
        node.data = small_disk.path / "data"
        node.runtime = node.data / "runtime"
        yield node


def test_a_founding_without_room_says_so_and_can_be_tried_again(node: Node, small_disk: SmallDisk) -> None:
    assert node.launch().wait() == JOURNAL_IO, node.stdout()
    assert f"need {4 * FRAME_BYTES_MAX} bytes" in node.stderr()
    assert "message_bus.max_message_size" in node.stderr()
    assert not (node.data / "LAYOUT").exists()
    # A ring of one file never frees it.
    small_disk.resize("3m")
    assert node.launch().wait() == JOURNAL_IO, node.stdout()
    assert not (node.data / "LAYOUT").exists()
    small_disk.resize("64m")
    # As a founding leaves it that was cut short: it counts as free.
    begun = node.data / "shards.new" / "00000001-00000000"
    begun.mkdir(parents=True)
    (begun / "journal-00000000").write_bytes(b"0" * (shutil.disk_usage(small_disk.path).free - 4096))
    node.start()
    with node.connect_registered() as client:
        client.ping()
    assert node.terminate() == 0


def test_a_disk_that_fills_up_is_waited_for(node: Node, small_disk: SmallDisk) -> None:
    """Aim: without room sends are told to try again, and no more. Method: fill it, then make room."""
    small_disk.resize("48m")
    node.restart({"leases.cut_timeout": "10m"})
    record, dice = LoadRecord(), random.Random(1)
    content = batch([dice.randbytes(200_000)])
    with TopicClient(node.connect_registered()) as client:
        client.create_stream(PLACE.stream)
        client.create_topic(PLACE, 1, 1 << 20)
        send_batch(client, PLACE, 0, record, dice)

        def is_full() -> bool:
            reply = client.send(PLACE, 0, content, 1)
            if reply.status == 0:
                record.know(0, base_offset(reply), message_digest(content))
            # A slow disk is waited for with the same word.
            return reply.status == BUSY and shutil.disk_usage(small_disk.path).free < len(content)

        until(is_full, "the disk is full")
        check(client, PLACE, record)
        assert client.send(PLACE, 0, content, 1).status == BUSY
        cut_is_refused(node)
        client.create_topic(Place(PLACE.stream, "another"), 2, 1 << 20)
        small_disk.resize("256m")
        for _ in range(20):
            send_batch(client, PLACE, 0, record, dice)
        check(client, PLACE, record)
    node.kill()
    node.restart()
    with TopicClient(node.connect_registered()) as client:
        check(client, PLACE, record)
    assert node.terminate() == 0


def cut_is_refused(node: Node) -> None:
    """A job that wants what cannot be written out is told so at once."""
    with Control(node.endpoints["control"]) as job:
        answer = job.ask("cut", stream=PLACE.stream, topic=PLACE.topic, ttl=60)
    assert answer["error"] == "busy"
    assert "ENOSPC" in answer["message"]
    assert "cut_timeout" not in answer["message"]


def message_digest(content: bytes) -> int:
    """That of the only message of a batch."""
    (message,) = messages_in(memoryview(content))
    return message.digest
