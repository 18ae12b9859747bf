"""Jobs whose target has no room: they say which file, the target is what it was, and the next run ends it."""

import os
import random
from pathlib import Path

import pytest

from server_ng.spark.command import main
from server_ng.spark.compact.merging import OUTPUTS
from tests.machine.small_disk import SmallDisk
from tests.spark.cutting_server import CuttingServer
from tests.spark.topics import sealed
from tests.spark.written_table import KINDS, WrittenTable
from tests.support.lease_files import Message, WrittenSegment, segment, write_lease

PAGE = 4096
MESSAGES = 300
PAGES_SHORT = 6
"""What commits take is less."""


def large(first: int) -> WrittenSegment:
    """Of messages that cannot be made smaller."""
    dice = random.Random(first)
    messages = [Message(offset, dice.randbytes(1_000)) for offset in range(first, first + MESSAGES)]
    return segment([messages])


def used(disk: SmallDisk) -> int:
    found = os.statvfs(disk.path)
    return (found.f_blocks - found.f_bfree) * found.f_frsize


@pytest.mark.parametrize("kind", KINDS)
def test_an_export_without_room(
    tmp_path: Path, small_disk: SmallDisk, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Aim: no room anywhere is told. Method: a page more each time, from no data file to all but a commit."""
    write_lease(tmp_path / "first", {0: [sealed(0, 20)]})
    write_lease(tmp_path / "second", {0: [sealed(0, 20), large(20)]})
    small_disk.resize("64m")

    def export(lease: str, table: WrittenTable) -> int:
        return main(["export", "--lease", str(tmp_path / lease), "--to", kind, *table.words()])

    whole = WrittenTable(kind, small_disk.path / "whole")
    assert export("first", whole) == 0
    before = used(small_disk)
    assert export("second", whole) == 0
    needed = used(small_disk) - before
    first = [(0, offset) for offset in range(20)]
    refused = 0
    for short in (needed // PAGE, *range(PAGES_SHORT, 0, -1)):
        table = WrittenTable(kind, small_disk.path / f"short-{short}")
        assert export("first", table) == 0
        capsys.readouterr()
        small_disk.resize(str(used(small_disk) + needed - short * PAGE))
        status = export("second", table)
        said = capsys.readouterr().err
        assert status in (0, 75), said
        if status:
            refused += 1
            assert str(table.folder) in said or (kind == "iceberg" and table.name in said)
            assert "No space left on device" in said
            assert table.places() == first
            assert table.strays() == set()
        small_disk.resize("64m")
        assert export("second", table) == (0 if status else 3)
        assert len(table.places()) == 20 + MESSAGES
        assert table.strays() == set()
    assert refused


def test_a_compaction_without_room(
    tmp_path: Path, small_disk: SmallDisk, capsys: pytest.CaptureFixture[str]
) -> None:
    small_disk.resize("64m")
    with CuttingServer(small_disk.path / "server") as server:
        server.holds({0: [large(0), large(MESSAGES), sealed(2 * MESSAGES, 5)]})
        path = server.leases / str(server.answer({"verb": "cut", "partitions": None})["lease"])
        command = ["compact", "--lease", str(path), "--json"]
        (small_disk.path / "server" / "runtime").mkdir()
        (path.parents[1] / "runtime" / "control.sock").symlink_to(server.control)
        small_disk.resize(str(used(small_disk) + 100 * PAGE))
        assert main(command) == 75
        said = capsys.readouterr().err
        assert "No space left on device" in said
        assert str(path / OUTPUTS) in said
        assert server.adopted == 0
        assert not (path / OUTPUTS).exists()
        small_disk.resize("64m")
        assert main(command) == 0
        assert server.adopted == 1
        assert not (path / OUTPUTS).exists()
