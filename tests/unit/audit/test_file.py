"""An audit file as the server appends to it: starts, kills, moves, and a disk that takes no more."""

import asyncio
import json
import resource
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
import structlog

from server_ng.audit.file import WAITING_MAX, AuditFile, NotAnAuditFileError
from server_ng.audit.verify import Verified, verify

CLUSTER = "0123456789abcdef"


@asynccontextmanager
async def opened(path: Path, cluster: str = CLUSTER) -> AsyncIterator[AuditFile]:
    """A file while a server runs that writes to it."""
    file = AuditFile(path)
    file.begin(cluster)
    running = asyncio.create_task(file.run())
    yield file
    await file.close(30)
    await running


@contextmanager
def files_no_longer_than(size: int) -> Iterator[None]:
    """For a while no file can be written beyond a size, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    # The log of the test is a file, too.
    with structlog.testing.capture_logs() as logs:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [log["event"] for log in logs] == ["audit_lines_lost"]


async def settled(file: AuditFile, lines: int) -> None:
    """Waits until so many lines were written or lost."""
    deadline = asyncio.get_running_loop().time() + 30
    while file.written + file.lost < lines:
        assert asyncio.get_running_loop().time() < deadline
        await asyncio.sleep(0)


def events(path: Path) -> list[Any]:
    return [json.loads(line)["event"] for line in path.read_text().splitlines()]


def verified(path: Path) -> Verified:
    with path.open("rb") as lines:
        return verify(lines)


async def test_a_chain_goes_on_over_starts(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    for start in range(3):
        async with opened(path) as file:
            assert file.last_op == 10 * start
            file.add("stream_created", 10 * start + 9, {"stream": "orders"})
            file.add("login_refused", 0, {"user": "mallory"})
            file.add("stream_deleted", 10 * start + 10, {}, 1_700_000_000_000_001)
    proof = verified(path)
    assert (proof.lines, proof.fault) == (12, None)
    assert events(path) == ["audit_opened", "stream_created", "login_refused", "stream_deleted"] * 3
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["number"] for line in lines] == list(range(1, 13))
    assert [line["op"] for line in lines[:4]] == [0, 9, 9, 10]
    assert lines[3]["time"] == "2023-11-14T22:13:20.000001+00:00"
    assert path.stat().st_mode & 0o777 == 0o640


async def test_the_operations_of_another_directory_are_others(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    async with opened(path) as file:
        file.add("stream_created", 9, {})
    async with opened(path, "fedcba9876543210") as file:
        assert file.last_op == 0
        file.add("stream_created", 3, {})
    async with opened(path, "fedcba9876543210") as file:
        assert file.last_op == 3
    assert verified(path).fault is None


@pytest.mark.parametrize("torn", [b"{", b'{"number":2,"time":"20', bytes(4096), b'{"number"' + bytes(99)])
async def test_a_line_that_a_crash_cut_off_is_removed(tmp_path: Path, torn: bytes) -> None:
    path = tmp_path / "audit.log"
    for expected in (1, 2):
        path.touch()
        with path.open("ab") as file:
            file.write(torn)
        assert verified(path).fault is not None
        async with opened(path):
            pass
        assert (verified(path).lines, verified(path).fault) == (expected, None)
    assert events(path) == ["audit_opened"] * 2


@pytest.mark.parametrize("content", [b"root:x:0:0::/root:/bin/sh\n", b"no line", b"{}\n", b"x" * 100_000])
def test_another_file_is_not_appended_to(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "passwd"
    path.write_bytes(content)
    with pytest.raises(NotAnAuditFileError):
        AuditFile(path)
    assert path.read_bytes() == content


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "target").touch()
    (tmp_path / "audit.log").symlink_to(tmp_path / "target")
    with pytest.raises(OSError, match="symbolic links"):
        AuditFile(tmp_path / "audit.log")


async def test_a_file_that_is_moved_away_is_continued_in_a_new_one(tmp_path: Path) -> None:
    path, moved = tmp_path / "audit.log", tmp_path / "audit.log.1"
    async with opened(path) as file:
        file.add("one", 1, {})
        await settled(file, 2)
        path.rename(moved)
        file.add("two", 2, {})
        await settled(file, 4)
        before = verified(moved).last
        path.unlink()
        file.add("three", 3, {})
    assert events(moved) == ["audit_opened", "one"]
    assert events(path) == ["audit_opened", "three"]
    first = json.loads(path.read_text().splitlines()[0])
    assert first["number"] == 5
    assert before is not None
    assert verified(moved).fault is None
    assert verified(path).fault is None


async def test_what_a_full_disk_does_not_take_is_counted_and_shows(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    async with opened(path) as file:
        file.add("before", 1, {})
        await settled(file, 2)
        with files_no_longer_than(path.stat().st_size + 99):
            for op in (2, 3, 4):
                file.add("lost", op, {})
                await settled(file, op + 1)
        assert (file.written, file.lost) == (2, 3)
        file.add("after", 5, {})
        file.add("after", 6, {})
    assert events(path) == ["audit_opened", "before", "after", "after"]
    proof = verified(path)
    assert (proof.lines, proof.fault) == (
        2,
        "3 lines are missing before line 3: the server could not write them.",
    )


async def test_a_start_on_a_full_disk_begins_the_file_later(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    async with opened(path) as file:
        with files_no_longer_than(0):
            file.add("lost", 1, {})
            await settled(file, 1)
        file.add("kept", 2, {})
    assert events(path) == ["audit_opened", "kept"]
    assert (file.written, file.lost) == (2, 1)
    assert verified(path).fault is None


async def test_the_lines_that_wait_are_bounded(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    async with opened(path) as file:
        for op in range(WAITING_MAX + 5):
            file.add("many", op + 1, {})
        await settled(file, WAITING_MAX + 6)
        assert (file.written, file.lost) == (WAITING_MAX + 1, 5)
        file.lose(3)
        file.add("next", WAITING_MAX + 9, {})
    fault = verified(path).fault
    assert fault == f"8 lines are missing before line {WAITING_MAX + 2}: the server could not write them."
