"""The last crash is written once and told once more, whatever state its file is in."""

from pathlib import Path

import pytest
import structlog

from server_ng.bootstrap.crashes import LastCrash, record_crash, tell_last_crash
from server_ng.wire.tables import ExitStatus


def told(path: Path) -> list[dict[str, object]]:
    """What the next start says."""
    with structlog.testing.capture_logs() as lines:
        tell_last_crash(path)
    return [dict(line) for line in lines]


def test_a_crash_is_told(tmp_path: Path) -> None:
    path = tmp_path / "last_crash.json"
    record_crash(path, ExitStatus.INTERNAL_FAULT, 'a "quoted"\nreason')
    (line,) = told(path)
    assert (line["event"], line["log_level"]) == ("last_crash", "warning")
    assert (line["status"], line["thread"]) == (70, "control plane")
    assert line["reason"] == 'a "quoted"\nreason'


def test_the_next_run_knows_status_and_time(tmp_path: Path) -> None:
    path = tmp_path / "last_crash.json"
    assert tell_last_crash(path) is None
    path.write_text('{"status": 74, "name": "", "thread": "", "reason": "", "at_micros": 1500000}')
    assert tell_last_crash(path) == LastCrash(74, 1.5)
    path.write_text('{"status": [], "name": "", "thread": "", "reason": "", "at_micros": 1}')
    assert tell_last_crash(path) is None


def test_without_a_crash_nothing_is_said(tmp_path: Path) -> None:
    assert told(tmp_path / "last_crash.json") == []


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"status": 70}', "null", "\x00"])
def test_a_file_that_cannot_be_read_stops_no_start(tmp_path: Path, content: str) -> None:
    path = tmp_path / "last_crash.json"
    path.write_text(content)
    (line,) = told(path)
    assert line["event"] == "last_crash_unreadable"


def test_a_crash_that_cannot_be_written_goes_on(tmp_path: Path) -> None:
    record_crash(tmp_path / "missing" / "last_crash.json", ExitStatus.INTERNAL_FAULT, "a reason")
