"""Damage in the segments of a stopped server costs the damaged messages and nothing else."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from server_ng.bootstrap.stored_metadata import group_directory, read_metadata
from tests.support.batches import batch
from tests.support.fixtures import StartNode
from tests.support.node import Node, Plan, clean_environment
from tests.support.topic_client import Place, TopicClient, base_offset
from tests.support.waiting import WAIT_MAX, until

_COMMAND = Path(sys.executable).with_name("server-ng")
_DAMAGED, _WHOLE = Place("stream", "damaged"), Place("stream", "whole")
_PAYLOAD, _MESSAGES = 10_000, 20
_BATCH = 256 + 48 + _PAYLOAD
_SHARDS = {"system.sharding.cpu_allocation": "2", "system.sharding.pin_cores": "false"}


def fill(node: Node) -> None:
    """Makes two topics of one partition; their messages are in unsealed segments."""
    with TopicClient(node.connect_registered()) as client:
        client.create_stream(_DAMAGED.stream)
        for place in (_DAMAGED, _WHOLE):
            client.create_topic(place, 1, 64 << 20)
            for number in range(_MESSAGES):
                assert client.send(place, 0, batch([b"x" * _PAYLOAD], number + 1), 1).status == 0
    until(lambda: node.counters().total("unflushed_bytes") == 0, "an empty memory")


def directory(node: Node) -> Path:
    """Where the damaged topic has its files."""
    stream = read_metadata(node.data).state.find(_DAMAGED.stream)
    topic = stream.find(_DAMAGED.topic) if stream else None
    assert topic is not None
    return group_directory(node.data, topic.partitions[0].group)


def _flip(files: Path) -> None:
    (segment,) = files.glob("*.log")
    content = bytearray(segment.read_bytes())
    content[5 * _BATCH + 1_000] ^= 4
    segment.write_bytes(content)


def _truncate(files: Path) -> None:
    (segment,) = files.glob("*.log")
    with segment.open("r+b") as file:
        file.truncate(15 * _BATCH + 100)


def _remove_segment(files: Path) -> None:
    (segment,) = files.glob("*.log")
    segment.unlink()


def _remove_list(files: Path) -> None:
    (files / "SEGMENTS").unlink()


def _remove_both(files: Path) -> None:
    _remove_list(files)
    _remove_segment(files)


_DAMAGES = pytest.mark.parametrize(
    ("damage", "lost"),
    [
        (_flip, range(5, 6)),
        (_truncate, range(15, 20)),
        (_remove_segment, range(20)),
        (_remove_list, range(0)),
        (_remove_both, range(20)),
    ],
    ids=["flip", "truncate", "no-segment", "no-list", "neither"],
)


def readable(client: TopicClient, place: Place, until_offset: int) -> tuple[list[int], list[int]]:
    """The offsets that are served one by one, and those that are refused as damaged."""
    served, refused = [], []
    for offset in range(until_offset + 1):
        status = client.poll_status(place, 0, offset, 9)
        assert status in (0, 4011, 4027, 4039)
        if status:
            refused.append(offset)
        else:
            (message,) = client.poll(place, 0, offset, 1, 9)
            assert message.offset == offset
            served.append(offset)
    return served, refused


def command(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs a command of the server."""
    return subprocess.run(
        [_COMMAND, *arguments],
        capture_output=True,
        text=True,
        timeout=WAIT_MAX,
        env=clean_environment(),
        check=False,
    )


def check_named(node: Node, lost: range, file: Path) -> None:
    """The running server names the range on every surface, and stays ready."""
    node.wait_for_count(1, "damaged_ranges")
    assert node.counters().total("damaged_partitions") == 1
    ready = json.loads(node.http("/ready"))
    expected = {
        "stream": _DAMAGED.stream,
        "topic": _DAMAGED.topic,
        "partition": 0,
        "first_offset": lost[0],
        "last_offset": lost[-1],
        "file": str(file),
    }
    assert (ready["ready"], ready["damage"]) == (True, [expected])
    told = node.wait_for_log("messages_fenced")
    assert {key: told[key] for key in expected} == expected


def check_offline(node: Node, lost: range, file: Path) -> None:
    """`recover` and `inspect topic` name it, too."""
    recovered = command("recover", node.data)
    named = f"{_DAMAGED.stream}/{_DAMAGED.topic}/0, offsets {lost[0]} to {lost[-1]}"
    assert recovered.returncode == 0, recovered.stderr
    assert named in recovered.stdout
    assert str(file) in recovered.stdout
    settings = ("--set", f"system.path={node.data}")
    inspected = command("inspect", "topic", _DAMAGED.stream, _DAMAGED.topic, *settings)
    assert inspected.returncode == 65
    assert f"lost offsets: {lost[0]} to {lost[-1]}" in inspected.stdout
    assert str(file) in inspected.stdout


@_DAMAGES
def test_after_an_orderly_stop_only_damaged_messages_are_lost(
    start_node: StartNode, damage: Callable[[Path], None], lost: range
) -> None:
    node = start_node(Plan(settings=_SHARDS))
    fill(node)
    assert node.terminate() == 0
    files = directory(node)
    file = files / f"{0:020}.log"
    damage(files)
    for life in range(2):
        node.start()
        last = _MESSAGES - 1 + life
        kept = [offset for offset in range(last + 1) if offset not in lost]
        with TopicClient(node.connect_registered()) as client:
            assert readable(client, _WHOLE, _MESSAGES - 1) == (list(range(_MESSAGES)), [])
            if lost:
                check_named(node, lost, file)
            assert readable(client, _DAMAGED, last) == (kept, list(lost))
            reply = client.send(_DAMAGED, 0, batch([b"more"], 100 + life), 1)
            assert (reply.status, base_offset(reply)) == (0, last + 1)
            assert client.poll(_DAMAGED, 0, last + 1, 1, 9)[0].offset == last + 1
        assert node.terminate() == 0
        if lost:
            check_offline(node, lost, file)


@_DAMAGES
def test_after_a_kill_the_journal_gives_back_what_it_holds(
    start_node: StartNode, damage: Callable[[Path], None], lost: range
) -> None:
    node = start_node(Plan(settings=_SHARDS))
    fill(node)
    assert node.terminate() == 0
    node.start()
    with TopicClient(node.connect_registered()) as client:
        # A manifest has the messages above; the journal has these.
        for number in range(5):
            assert client.send(_DAMAGED, 0, batch([b"late"], 200 + number), 1).status == 0
    node.kill()
    if lost and lost[-1] == _MESSAGES - 1:
        # A manifest may have been written meanwhile: the journal holds what follows it.
        group = int(directory(node).name, 16)
        lost = range(lost[0], read_metadata(node.data).groups[group]["last_offset"] + 1)
    damage(directory(node))
    node.start()
    last = _MESSAGES + 4
    kept = [offset for offset in range(last + 1) if offset not in lost]
    with TopicClient(node.connect_registered()) as client:
        assert readable(client, _WHOLE, _MESSAGES - 1) == (list(range(_MESSAGES)), [])
        assert readable(client, _DAMAGED, last) == (kept, list(lost))
        reply = client.send(_DAMAGED, 0, batch([b"more"], 300), 1)
        assert (reply.status, base_offset(reply)) == (0, last + 1)


def test_a_purge_ends_the_damage(start_node: StartNode) -> None:
    node = start_node(Plan(settings=_SHARDS))
    fill(node)
    assert node.terminate() == 0
    _remove_segment(directory(node))
    node.start()
    node.wait_for_count(1, "damaged_ranges")
    with TopicClient(node.connect_registered()) as client:
        client.purge_topic(_DAMAGED)
    node.wait_for_count(0, "damaged_ranges")
    assert "damage" not in json.loads(node.http("/ready"))
