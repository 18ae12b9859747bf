"""Leases and other users: members of `leases.group` ask for them and read them, and nobody else gets in."""

import grp
import json
import os
import subprocess
import sys

import pytest

from tests.support.batches import batch
from tests.support.fixtures import StartNode
from tests.support.node import Node
from tests.support.topic_client import Place, TopicClient

GROUP = "games"
CLOSED: dict[str, object] = {".": False, "groups": False, "runtime": False}
# Folders above the data directory are not for others: the job is given it as an open directory.
SCRIPT = """
import json, os, sys
from pathlib import Path
from server_ng.segments.control import Control, ControlError
from server_ng.segments.lease import Lease

base, group = Path(f"/proc/self/fd/{sys.argv[1]}"), int(sys.argv[2])
os.setgroups([])
os.setgid(group)
os.setuid(65534)

def refused(call):
    try:
        call()
    except PermissionError:
        return True
    return False

told = {name: not refused(lambda: os.listdir(base / name)) for name in (".", "groups", "runtime")}
try:
    with Control(base / "runtime" / "control.sock") as control:
        given, lease = control.cut("stream", "topic", 60)
    path = base / "leases" / given.name
    assert Lease.read(path) == lease
    told["bytes"] = [
        len((path / segment.path).read_bytes()) >= segment.bytes
        for cut in lease.partitions
        for segment in cut.segments
    ]
    told["written"] = not refused(lambda: (path / "mine").write_text(""))
except ControlError:
    told["asked"] = False
print(json.dumps(told))
"""


def asked_by(node: Node, group: int) -> dict[str, object]:
    """What a job of another user gets."""
    data = os.open(node.data, os.O_PATH | os.O_DIRECTORY)
    try:
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, str(data), str(group)],
            pass_fds=[data],
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        os.close(data)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


@pytest.fixture
def node(start_node: StartNode) -> Node:
    """A server under the umask of its unit, with a message."""
    before = os.umask(0o077)
    try:
        node = start_node(settings={"leases.group": GROUP})
    finally:
        os.umask(before)
    with TopicClient(node.connect_registered()) as client:
        place = Place("stream", "topic")
        client.create_stream(place.stream)
        client.create_topic(place, 1, 1 << 20)
        assert client.send(place, 0, batch([b"a message"]), 1).status == 0
    return node


def test_a_member_of_the_group_asks_and_reads_and_no_more(node: Node) -> None:
    told = asked_by(node, grp.getgrnam(GROUP).gr_gid)
    assert told == {**CLOSED, "bytes": [True], "written": False}


def test_somebody_else_does_not_get_in(node: Node) -> None:
    assert asked_by(node, 65534) == {**CLOSED, "asked": False}
