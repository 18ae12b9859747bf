"""Files for people and scripts: written as soon as there is room, and never in half."""

import errno
import os
from pathlib import Path

import pytest

from server_ng.auth.private_file import write_private
from server_ng.bootstrap.runtime_files import RuntimeFiles, lacks_space


class FullDisk:
    """Writes nothing while it is full."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
        self.is_full = True
        self._number = number
        monkeypatch.setattr("server_ng.bootstrap.runtime_files.write_private", self.write)

    def write(self, path: Path, content: str) -> None:
        if self.is_full:
            raise OSError(self._number, os.strerror(self._number))
        write_private(path, content)


def test_what_finds_no_room_is_written_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = FullDisk(monkeypatch, errno.ENOSPC)
    path = tmp_path / "endpoints.json"
    path.write_text("of an earlier run")
    files = RuntimeFiles()
    files.write(path, "now")
    assert not path.exists(), "one of an earlier run says nothing about this one"
    files.retry()
    assert not path.exists()
    disk.is_full = False
    files.retry()
    assert path.read_text() == "now"
    path.unlink()
    files.retry()
    assert not path.exists(), "once is enough"


def test_a_run_that_ends_writes_nothing_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = FullDisk(monkeypatch, errno.EDQUOT)
    files = RuntimeFiles()
    files.write(tmp_path / "endpoints.json", "now")
    files.forget()
    disk.is_full = False
    files.retry()
    assert list(tmp_path.iterdir()) == []


def test_any_other_failure_is_the_callers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    FullDisk(monkeypatch, errno.EACCES)
    with pytest.raises(PermissionError):
        RuntimeFiles().write(tmp_path / "endpoints.json", "now")
    assert not lacks_space(PermissionError(errno.EACCES, "no"))


def test_half_a_file_is_not_left_behind(tmp_path: Path) -> None:
    # A name that cannot be taken: the draft is whole by then.
    (tmp_path / "endpoints.json").mkdir()
    with pytest.raises(IsADirectoryError):
        RuntimeFiles().write(tmp_path / "endpoints.json", "now")
    assert [path.name for path in tmp_path.iterdir()] == ["endpoints.json"]
