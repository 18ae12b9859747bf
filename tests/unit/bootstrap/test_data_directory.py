"""The data directory: one owner at a time, and the lock goes with its owner."""

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from server_ng.bootstrap.data_directory import DataDirectory
from server_ng.bootstrap.errors import StartError
from server_ng.wire.tables import ExitStatus
from tests.support.storage_reader import golden_file, layout


def take(path: Path) -> DataDirectory:
    """Takes a directory with its runtime folder inside."""
    return DataDirectory.take(path, path / "runtime")


def test_it_is_made_for_its_user_alone(tmp_path: Path) -> None:
    taken = take(tmp_path / "a" / "b")
    assert taken.path.is_dir()
    assert taken.runtime_path.stat().st_mode & 0o777 == 0o700
    taken.release()


def test_the_lock_names_its_owner(tmp_path: Path) -> None:
    taken = take(tmp_path)
    assert json.loads((tmp_path / "LOCK").read_text()) == {"pid": os.getpid()}
    taken.release()


def test_a_copy_that_cannot_be_written_is_refused_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, *_: object) -> int:
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    monkeypatch.setattr("server_ng.bootstrap.data_directory.os.open", refuse)
    with pytest.raises(StartError, match="copy it to where it can be written"):
        take(tmp_path)


def test_a_second_owner_is_refused_until_the_first_lets_go(tmp_path: Path) -> None:
    first = take(tmp_path)
    with pytest.raises(StartError, match=f"in use by the process {os.getpid()}") as refused:
        take(tmp_path)
    assert refused.value.status == ExitStatus.CONFIGURATION
    first.release()
    take(tmp_path).release()


@pytest.mark.parametrize("content", ["", "{", "[]", '{"pid": "x"}', '{"pid": null}', "\x00\xff" * 100])
def test_an_owner_that_cannot_be_read_is_another_process(tmp_path: Path, content: str) -> None:
    taken = take(tmp_path)
    (tmp_path / "LOCK").write_text(content)
    with pytest.raises(StartError, match="in use by another process"):
        take(tmp_path)
    taken.release()


def test_what_a_dead_owner_wrote_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "LOCK").write_text("x" * 1000)
    taken = take(tmp_path)
    assert json.loads((tmp_path / "LOCK").read_text()) == {"pid": os.getpid()}
    taken.release()


def test_a_file_in_its_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StartError, match="cannot be made"):
        take(tmp_path / "file")


def test_a_directory_in_place_of_the_lock_is_refused(tmp_path: Path) -> None:
    (tmp_path / "LOCK").mkdir()
    with pytest.raises(StartError, match="LOCK cannot be opened"):
        take(tmp_path)


@pytest.mark.parametrize("change", [lambda data: data, lambda data: data[:50], lambda data: b""])
def test_the_shards_that_were_founded_are_known(tmp_path: Path, change: Callable[[bytes], bytes]) -> None:
    taken = take(tmp_path)
    assert taken.recorded_shards() is None
    founded = golden_file("layout")
    (tmp_path / "LAYOUT").write_bytes(change(founded))
    expected = layout(founded)[3] if change(founded) == founded else None
    assert taken.recorded_shards() == expected
    taken.release()


def test_a_runtime_folder_elsewhere_has_one_owner_too(tmp_path: Path) -> None:
    first = DataDirectory.take(tmp_path / "a", tmp_path / "run")
    with pytest.raises(StartError, match=r"run is in use .*system\.runtime\.path"):
        DataDirectory.take(tmp_path / "b", tmp_path / "run")
    first.release()
    DataDirectory.take(tmp_path / "b", tmp_path / "run").release()


def files_below(path: Path) -> dict[str, bytes | None]:
    """Every name below a directory, with the content of each file."""
    return {
        str(found.relative_to(path)): found.read_bytes() if found.is_file() else None
        for found in path.rglob("*")
    }


@pytest.mark.parametrize(
    "names", [("state/log", "state/info"), ("streams/0/topics/0/x",), ("metadata/journal.wal",)]
)
def test_data_of_iggy_is_refused_before_anything_is_written(tmp_path: Path, names: tuple[str, ...]) -> None:
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("of the other server")
    before = files_below(tmp_path)
    with pytest.raises(StartError, match=r"Apache Iggy .* Set system\.path to another directory") as refused:
        take(tmp_path)
    assert refused.value.status == ExitStatus.CONFIGURATION
    assert files_below(tmp_path) == before


@pytest.mark.parametrize("name", ["runtime", "logs", "backup", "leases"])
def test_folders_that_prove_nothing_are_no_data_of_iggy(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    take(tmp_path).release()


def test_a_directory_that_was_founded_beside_data_of_iggy_goes_on(tmp_path: Path) -> None:
    (tmp_path / "streams").mkdir()
    (tmp_path / "LAYOUT").write_bytes(golden_file("layout"))
    take(tmp_path).release()


def test_fresh_deletes_what_a_server_stored_and_nothing_else(tmp_path: Path) -> None:
    for name in (
        "shards/0/journal-00000000",
        "groups/00/x.log",
        "leases/1/x.log",
        "trash/x",
        "runtime/x",
        "notes",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    elsewhere = tmp_path.with_name("elsewhere")
    elsewhere.mkdir()
    (elsewhere / "kept").write_text("")
    (tmp_path / "shards.new").symlink_to(elsewhere)
    # Of a later version, and damaged.
    (tmp_path / "LAYOUT").write_bytes(golden_file("layout")[:30] + b"\xff" * 40)
    taken = take(tmp_path)
    taken.delete_data()
    taken.release()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["LOCK", "notes", "runtime"]
    assert (tmp_path / "runtime" / "x").exists()
    assert (elsewhere / "kept").exists()


@pytest.mark.parametrize("layout", [b"", b"layout of another program", b"\0" * 200])
def test_fresh_deletes_nothing_in_a_directory_of_others(tmp_path: Path, layout: bytes) -> None:
    (tmp_path / "groups").mkdir()
    (tmp_path / "LAYOUT").write_bytes(layout)
    taken = take(tmp_path)
    with pytest.raises(StartError, match="is not a file of this server"):
        taken.delete_data()
    taken.release()
    assert (tmp_path / "groups").exists()
    assert (tmp_path / "LAYOUT").read_bytes() == layout


def test_fresh_deletes_nothing_that_was_not_founded(tmp_path: Path) -> None:
    (tmp_path / "groups").mkdir()
    taken = take(tmp_path)
    taken.delete_data()
    taken.release()
    assert (tmp_path / "groups").exists()
