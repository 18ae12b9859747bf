"""A data directory on a disk without room for it."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.node import Node, Plan

JOURNAL_IO = 74


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system with less room than a journal needs."""
    mount = tmp_path / "small"
    mount.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(mount)], check=True)
    yield mount
    subprocess.run(["umount", "--lazy", str(mount)], check=True)


@pytest.fixture
def node(tmp_path: Path, small_disk: Path) -> Iterator[Node]:
    """A server on that disk, which is not running yet."""
    folder = tmp_path / "node"
    folder.mkdir()
    with Node(folder, Plan({"system.path": str(small_disk / "data")})) as node:
        node.data = small_disk / "data"
        node.runtime = node.data / "runtime"
        yield node


def test_a_founding_without_room_says_so_and_can_be_tried_again(node: Node, small_disk: Path) -> None:
    assert node.launch().wait() == JOURNAL_IO, node.stdout()
    assert "ENOSPC" in node.stderr()
    assert "journal-00000000" in node.stderr()
    assert not (node.data / "LAYOUT").exists()
    subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
    node.start()
    with node.connect_registered() as client:
        client.ping()
    assert node.terminate() == 0
