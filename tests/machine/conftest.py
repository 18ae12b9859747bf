"""What the tests of the machine share: the backends there are, and the program that writes a journal."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.machine.small_disk import SmallDisk
from tests.support.fixtures import backend, make_node, start_node
from tests.support.journal_writer import build

__all__ = ["backend", "journal_program", "make_node", "start_node"]


@pytest.fixture(scope="session")
def journal_program(root: Path) -> Path:
    """The writer and judge of a journal, compiled."""
    return build(root)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """A file system with little room."""
    with SmallDisk(tmp_path) as disk:
        yield disk
