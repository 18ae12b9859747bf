"""What dead jobs left below a table is removed, and nothing else."""

from collections.abc import Callable
from pathlib import Path

import pytest

from server_ng.spark.command import main
from server_ng.spark.cutter import HeldLease
from server_ng.spark.export.job import export, on_threads
from tests.spark.exports import FIRST, RAW, Crash, crashing, first_state
from tests.spark.topics import sealed
from tests.spark.written_table import KINDS, WrittenTable

pytestmark = pytest.mark.parametrize("kind", KINDS)


def test_what_is_named_and_what_is_young_stays(
    tmp_path: Path, leased: Callable[..., HeldLease], kind: str
) -> None:
    table = WrittenTable(kind, tmp_path / "lake")
    export(leased({0: [sealed(0, 4)]}), table.open(), RAW, on_threads)
    with pytest.raises(Crash):
        export(leased(first_state()), table.open(), RAW, crashing(1))
    left = table.strays()
    assert left
    command = ["gc", "--to", kind, *table.words()]
    assert main(command) == 0
    assert table.strays() == left
    assert main([*command, "--older-than", "0"]) == 0
    assert (table.strays(), table.places()) == (set(), FIRST[:4])


def test_a_table_that_is_not_there_is_said_to_be(
    tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    table = WrittenTable(kind, tmp_path / "lake")
    assert main(["gc", "--to", kind, *table.words()]) == 78
    assert table.name in capsys.readouterr().err


def test_what_older_versions_are_read_from_stays(
    tmp_path: Path, leased: Callable[..., HeldLease], kind: str
) -> None:
    table = WrittenTable(kind, tmp_path / "lake")
    export(leased({0: [sealed(0, 4)]}), table.open(), RAW, on_threads)
    files = set(table.folder.rglob("*.parquet"))
    table.delete_all()
    assert main(["gc", "--to", kind, *table.words(), "--older-than", "0"]) == 0
    assert set(table.folder.rglob("*.parquet")) >= files


def test_its_folder_may_have_any_name(tmp_path: Path, leased: Callable[..., HeldLease], kind: str) -> None:
    # Of Iceberg the location is a URL, in which this would not be a name.
    table = WrittenTable(kind, tmp_path / ("lake" if kind == "iceberg" else "la ke #1?"))
    export(leased({0: [sealed(0, 4)]}), table.open(), RAW, on_threads)
    assert main(["gc", "--to", kind, *table.words(), "--older-than", "0"]) == 0
    assert table.places() == FIRST[:4]


def test_what_no_export_wrote_stays(tmp_path: Path, leased: Callable[..., HeldLease], kind: str) -> None:
    table = WrittenTable(kind, tmp_path / "lake")
    with pytest.raises(Crash):
        export(leased(first_state()), table.open(), RAW, crashing(1))
    jobs = next(iter(table.strays())).parents[1]
    (others := jobs / "region=eu" / "day=1").mkdir(parents=True)
    (others / "part-0.parquet").touch()
    assert main(["gc", "--to", kind, *table.words(), "--older-than", "0"]) == 0
    assert [each.name for each in table.strays()] == ["part-0.parquet"]
