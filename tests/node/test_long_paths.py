"""Data directories whose path is longer than a socket's address may be."""

import json
import os
from pathlib import Path

import pytest

from server_ng.segments.control import Control, ControlAbsentError
from server_ng.spark.cutter import CutRefusedError, Cutter
from tests.support.batches import batch
from tests.support.fixtures import StartNode
from tests.support.lease_command import lease_command
from tests.support.leased_messages import leased_messages
from tests.support.node import Node
from tests.support.topic_client import Place, TopicClient

PLACE = Place("stream", "topic")


def long_path(below: Path, length: int) -> Path:
    """A path of this many bytes."""
    while (left := length - len(os.fsencode(below)) - 1) > 0:
        below /= "d" * min(left, 200)
    assert len(os.fsencode(below)) == length
    return below


@pytest.fixture(params=[87, 108, 300, 3_000])
def node(request: pytest.FixtureRequest, make_node: StartNode) -> Node:
    """A server with a long path, and messages."""
    # Below a short folder: the length is what is asked for.
    made = make_node()
    made.data = long_path(made.folder, max(request.param, len(os.fsencode(made.folder)) + 3))
    made.runtime = made.data / "runtime"
    made.start()
    with TopicClient(made.connect_registered()) as client:
        client.create_stream(PLACE.stream)
        client.create_topic(PLACE, 1, 1 << 20)
        assert client.send(PLACE, 0, batch([b"one", b"two"]), 2).status == 0
    return made


def test_jobs_reach_the_server(node: Node) -> None:
    path = Path(node.endpoints["control"])
    assert path == node.runtime / "control.sock"
    with Control(path) as control:
        lease, _ = control.cut(PLACE.stream, PLACE.topic, 600)
    assert len(leased_messages(lease)[0]) == 2
    cutter = Cutter(path)
    cutter.release(lease.name)
    assert cutter.leases() == []
    made = lease_command(node.data, "cut", PLACE.stream, PLACE.topic, "--json")
    assert made.returncode == 0, made.stderr
    assert len(leased_messages(Path(json.loads(made.stdout)["path"]))[0]) == 2


def test_a_server_that_has_stopped_is_absent(node: Node) -> None:
    path = Path(node.endpoints["control"])
    assert node.terminate() == 0
    assert not path.exists()
    with pytest.raises(ControlAbsentError):
        Control(path)
    with pytest.raises(CutRefusedError, match="unreachable"):
        Cutter(path).leases()
    made = lease_command(node.data, "cut", PLACE.stream, PLACE.topic, "--json")
    assert made.returncode == 0, made.stderr
    node.start()
    node.kill()
    with pytest.raises(ControlAbsentError):
        Control(path)
