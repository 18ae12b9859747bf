"""A server that was started on a terminal stops when the terminal is closed."""

import sys

import psutil

from tests.support.fixtures import StartNode
from tests.support.node import Plan
from tests.support.storage_reader import superblock_copies
from tests.support.waiting import until

_TERMINAL = (sys.executable, "-c", "import pty, sys; pty.spawn(sys.argv[1:])")
"""A terminal, which the server that is started on it outlives if it does not notice that it is gone."""


def test_a_closed_terminal_stops_the_server_in_order(start_node: StartNode) -> None:
    node = start_node(Plan(under=_TERMINAL))
    server = psutil.Process(int(node.endpoints["pid"]))
    assert server.pid != node.pid
    node.kill()
    until(lambda: not server.is_running(), "the server ends with its terminal")
    left = [
        copy
        for path in node.data.glob("shards/*/superblock")
        for copy in superblock_copies(path.read_bytes())
    ]
    assert left
    assert all(copy["clean"] for copy in left)
