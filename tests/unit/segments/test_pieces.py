"""Pieces of a file: the same whichever way they come, and errors where a mapping would end the process."""

import math
import mmap
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server_ng.segments.damage import SegmentReadError
from server_ng.segments.pieces import Pieces

PAGE = mmap.PAGESIZE
CONTENT = os.urandom(9 * PAGE + 77)
DISK, NO_DEVICE = 8, 0
HUGE_PAGE = 2 << 20
"""What the kernel may map at once of what it has."""

places = st.integers(0, len(CONTENT))
reads = st.lists(st.tuples(places, places).map(sorted), max_size=8)


@pytest.fixture(params=[1, 2 * PAGE, math.inf], ids=["mapped", "both", "copied"], autouse=True)
def mapped_from(request: pytest.FixtureRequest) -> Iterator[None]:
    """From this length on pieces are mapped, whatever the folder of the test lies on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("server_ng.segments.pieces._MAPPED_FROM", request.param)
        patch.setattr("server_ng.segments.pieces.os.major", lambda _: DISK)
        yield


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pieces") / "file"
    path.write_bytes(CONTENT)
    return path


@given(reads=reads)
def test_each_is_what_the_file_holds_there(path: Path, reads: list[list[int]]) -> None:
    pieces = Pieces(path, len(CONTENT))
    for begins, ends in reads:
        assert pieces.read(begins, ends - begins) == CONTENT[begins:ends]
    pieces.close()


def test_a_file_that_is_shortened_while_it_is_open_ends_earlier(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(CONTENT)
    pieces = Pieces(path, len(CONTENT))
    assert pieces.read(0, PAGE) == CONTENT[:PAGE]
    os.truncate(path, 3 * PAGE + 5)
    assert pieces.read(PAGE, 8 * PAGE) == CONTENT[PAGE : 3 * PAGE + 5]
    assert len(pieces.read(5 * PAGE, PAGE)) == 0
    pieces.close()


def test_a_file_that_is_shorter_than_it_should_be_is_read_to_its_end(path: Path) -> None:
    pieces = Pieces(path, 20 * PAGE)
    assert pieces.read(PAGE, 19 * PAGE) == CONTENT[PAGE:]
    pieces.close()


def test_of_what_was_passed_nothing_stays_mapped(tmp_path: Path) -> None:
    path, piece = tmp_path / "file", (300 << 10) + 3
    path.write_bytes(bytes(100 * piece))
    pieces = Pieces(path, 100 * piece)
    for number in [*range(100), 7, 50]:
        pieces.read(number * piece, piece)
        assert resident(path) <= piece + 2 * HUGE_PAGE
    pieces.close()


def test_files_of_a_server_are_copied(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server_ng.segments.pieces.os.major", lambda _: NO_DEVICE)
    pieces = Pieces(path, len(CONTENT))
    assert pieces.read(0, len(CONTENT)) == CONTENT
    assert resident(path) == 0
    pieces.close()


def test_what_cannot_be_mapped_is_copied_and_that_tells_why_it_cannot_be_read(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> int:
        raise OSError(5, "Input/output error")

    pieces = Pieces(path, len(CONTENT))
    monkeypatch.setattr("server_ng.segments.pieces._MADV_POPULATE_READ", 1 << 20)
    assert pieces.read(0, PAGE + 9) == CONTENT[: PAGE + 9]
    monkeypatch.setattr("server_ng.segments.pieces.os.preadv", refused)
    with pytest.raises(SegmentReadError, match=f"file: byte {PAGE + 9}: Input/output error"):
        pieces.read(PAGE, 9 * PAGE)
    pieces.close()


def resident(path: Path) -> int:
    """Bytes of a file that this process has mapped, and are there."""
    here, found = False, 0
    for line in Path("/proc/self/smaps").read_text().splitlines():
        words = line.split()
        if "-" in words[0] and ":" not in words[0]:
            here = words[-1] == str(path)
        elif here and words[0] == "Rss:":
            found += int(words[1]) << 10
    return found
