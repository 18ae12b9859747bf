"""An export that is killed at any call that writes, and run again: each message is in the table once."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from server_ng.spark.command import main
from tests.spark.topics import sealed
from tests.spark.written_table import KINDS, WrittenTable
from tests.support.fixtures import LONG
from tests.support.kill_at_call import KILLED, killer
from tests.support.lease_files import write_lease

POINTS = 5
FIRST = [(0, offset) for offset in range(10)]
SECOND = [*FIRST, *((0, offset) for offset in range(10, 20)), *((1, offset) for offset in range(7))]

pytestmark = pytest.mark.timeout(1_800)


class Exports:
    """Jobs over two states of a topic, into tables of one kind."""

    def __init__(self, folder: Path, kind: str) -> None:
        self._folder, self._kind = folder, kind
        groups = {0: 7, 1: 8}
        other = {1: [sealed(0, 7, partition=1, group=8)]}
        write_lease(folder / "first", {0: [sealed(0, 10)], 1: []}, groups=groups)
        write_lease(folder / "second", {0: [sealed(0, 10), sealed(10, 10)], **other}, groups=groups)

    def table(self, name: str) -> WrittenTable:
        """A table with the first state in it."""
        table = WrittenTable(self._kind, self._folder / name)
        assert main(self._command("first", table)) == 0
        assert table.places() == FIRST
        return table

    def killed(self, table: WrittenTable, at: str, call: int) -> tuple[bool, int]:
        """Adds the second state, and is killed at a call; whether it was, and how many calls there were."""
        command = [sys.executable, "-m", "server_ng", "spark", *self._command("second", table)]
        done = subprocess.run(
            [*killer(at, call), *command],
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode in (0, KILLED), done.stderr
        return done.returncode == KILLED, int(done.stderr.splitlines()[-1].split()[0])

    def again(self, table: WrittenTable) -> int:
        """The next run of the job; its status."""
        return main(self._command("second", table))

    def collected(self, table: WrittenTable) -> int:
        """Removes what the killed job left; the status."""
        return main(["gc", "--to", self._kind, *table.words(), "--older-than", "0"])

    def _command(self, state: str, table: WrittenTable) -> list[str]:
        return ["export", "--lease", str(self._folder / state), "--to", self._kind, *table.words()]


@pytest.mark.parametrize("kind", KINDS)
def test_a_kill_at_any_writing_call_neither_repeats_nor_skips(tmp_path: Path, kind: str) -> None:
    exports = Exports(tmp_path, kind)
    whole = exports.table("whole")
    _, calls = exports.killed(whole, "entry", 0)
    assert whole.places() == SECOND
    points = range(1, calls + 1) if LONG else sorted({1 + calls * at // POINTS for at in range(POINTS)})
    kills = 0
    for call in points:
        table = exports.table(f"killed-{call}")
        died, _ = exports.killed(table, ("entry", "exit")[call % 2], call)
        kills += died
        # Readers see what there was, or more: files of a commit get their places one by one.
        assert set(FIRST) <= set(table.places()) <= set(SECOND)
        assert exports.again(table) in (0, 3)
        assert table.places() == SECOND
        assert exports.again(table) == 3
        assert exports.collected(table) == 0
        assert table.strays() == set()
        assert table.places() == SECOND
    assert kills >= len(points) // 2
