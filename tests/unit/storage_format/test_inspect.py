"""``server-ng inspect`` of files that are right, cut short or damaged."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from server_ng import cli
from server_ng.wire.tables import ExitStatus
from tests.support.broken_pipe import run_without_reader
from tests.support.storage_reader import blocks, golden_file

KINDS = ("layout", "superblock", "journal", "manifest", "segment", "segments", "index", "state")


@pytest.fixture
def inspected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs ``server-ng inspect KIND`` over these bytes; returns the status and the printed objects."""

    def run(kind: str, data: bytes) -> tuple[int, list[dict[str, Any]]]:
        path = tmp_path / "file"
        path.write_bytes(data)
        monkeypatch.setattr(sys, "argv", ["server-ng", "inspect", kind, str(path)])
        status = cli.main()
        return status, [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return run


@pytest.mark.parametrize("kind", KINDS)
def test_a_golden_file_is_printed(kind: str, inspected: Any) -> None:
    status, lines = inspected(kind, golden_file(kind))
    assert status == ExitStatus.CLEAN
    assert lines
    assert all("refused" not in line for line in lines)


def test_a_journal_longer_than_a_piece_is_printed_whole(inspected: Any) -> None:
    golden = golden_file("journal")
    status, lines = inspected("journal", golden + bytes(3 << 20))
    assert status == ExitStatus.CLEAN
    expected = [len(block.records) for block in blocks(golden)]
    assert [line["records"] for line in lines if line["structure"] == "block"] == expected
    assert [line["kind"] for line in lines if line["structure"] == "record"] == [
        "open",
        "prepare",
        "prepare",
        "view",
        "install",
        "close",
        "mark",
    ]


@pytest.mark.parametrize("foreign", [b"", b"# A page of text\n" * 1000, b"text" + bytes(3 << 20)])
def test_a_file_that_is_no_journal_is_refused(inspected: Any, foreign: bytes) -> None:
    status, lines = inspected("journal", foreign)
    assert status == ExitStatus.DAMAGED_DATA
    assert [line["refused"] for line in lines] == ["magic"]


def test_a_reader_that_is_gone_is_no_fault_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    # More lines than fit into the buffer of standard output.
    path.write_bytes(golden_file("journal") * 20)
    assert run_without_reader("inspect", "journal", str(path)) == (1, "")


def test_a_file_of_a_journal_that_holds_no_block_yet_is_none_to_refuse(inspected: Any) -> None:
    assert inspected("journal", bytes(3 << 20)) == (ExitStatus.CLEAN, [])


@pytest.mark.parametrize("kind", KINDS)
def test_damage_is_refused_by_name(kind: str, inspected: Any) -> None:
    data = bytearray(golden_file(kind))
    data[40] ^= 1
    status, lines = inspected(kind, bytes(data))
    assert status == ExitStatus.DAMAGED_DATA
    (refused, *_) = (line for line in lines if "refused" in line)
    assert refused["reason"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_cut_anywhere_is_answered(kind: str, inspected: Any) -> None:
    data = golden_file(kind)
    for length in range(0, len(data), max(1, len(data) // 40)):
        status, _ = inspected(kind, data[:length])
        assert status in (ExitStatus.CLEAN, ExitStatus.DAMAGED_DATA)


def test_a_missing_file_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["server-ng", "inspect", "journal", str(tmp_path / "absent")])
    assert cli.main() == ExitStatus.CONFIGURATION
    assert "cannot be read" in capsys.readouterr().err
