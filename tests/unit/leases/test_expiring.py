"""Leases that end by themselves, while jobs ask for things."""

import asyncio
import errno
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from server_ng.leases.files import LeaseFiles
from server_ng.leases.requests import Release, Renew
from server_ng.leases.service import Leases
from tests.support.lease_files import BASE_TIME
from tests.unit.leases.node_leases import Clock, leases_of, write_lease_until

SECOND = 1_000_000


class SlowRemoval:
    """Removals that begin, and end when the test lets them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun: list[str] = []
        self.first_began = asyncio.Event()
        self.may_end = asyncio.Event()
        self.ended: asyncio.Queue[str] = asyncio.Queue()
        whole = LeaseFiles.remove

        async def remove(files: LeaseFiles, name: str) -> None:
            self.begun.append(name)
            self.first_began.set()
            await self.may_end.wait()
            await whole(files, name)
            await self.ended.put(name)

        monkeypatch.setattr(LeaseFiles, "remove", remove)


def names(folder: Path) -> list[str]:
    """What is in a folder."""
    return sorted(path.name for path in folder.iterdir())


@asynccontextmanager
async def expiring(leases: Leases) -> AsyncIterator[asyncio.Task[None]]:
    """The task that ends leases; it must not end itself."""
    task = asyncio.create_task(leases.expire())
    try:
        yield task
        assert not task.done(), task
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def two_that_expired(root: Path, clock: Clock) -> Leases:
    """Leases a and b, whose time is over since they were loaded."""
    for name in "ab":
        write_lease_until(root, name, BASE_TIME + SECOND)
    leases = leases_of(root, clock)
    await leases.load()
    clock.now += 2 * SECOND
    return leases


async def test_what_is_released_while_another_one_is_removed_is_not_removed_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leases = await two_that_expired(tmp_path, Clock(BASE_TIME))
    slow = SlowRemoval(monkeypatch)
    async with expiring(leases):
        await slow.first_began.wait()
        released = asyncio.create_task(leases.serve(Release("b")))
        await asyncio.wait([released], timeout=0)
        slow.may_end.set()
        assert {await slow.ended.get(), await slow.ended.get()} == {"a", "b"}
        assert await released == {"lease": "b"}
    assert sorted(slow.begun) == ["a", "b"]
    assert len(leases.ledger) == 0


async def test_what_is_renewed_while_another_one_is_removed_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(BASE_TIME)
    leases = await two_that_expired(tmp_path, clock)
    slow = SlowRemoval(monkeypatch)
    async with expiring(leases):
        await slow.first_began.wait()
        assert (await leases.serve(Renew("b", 60)))["expires"] == clock.now + 60 * SECOND
        slow.may_end.set()
        assert await slow.ended.get() == "a"
    assert [held.lease.lease for held in leases.ledger] == ["b"]
    assert (tmp_path / "b" / "manifest.json").exists()


async def test_what_could_not_be_removed_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_lease_until(tmp_path, "a", BASE_TIME - SECOND)
    whole = LeaseFiles.remove
    ended = asyncio.Event()

    async def remove(files: LeaseFiles, name: str) -> None:
        await whole(files, name)
        ended.set()

    async def refuse(files: LeaseFiles, name: str) -> None:
        monkeypatch.setattr(LeaseFiles, "remove", remove)
        raise OSError(errno.ENOTEMPTY, "Directory not empty", str(files.path(name)))

    monkeypatch.setattr(LeaseFiles, "remove", refuse)
    leases = leases_of(tmp_path, Clock(BASE_TIME))
    await leases.load()
    assert (tmp_path / "a").exists()
    async with expiring(leases):
        await ended.wait()
    assert not (tmp_path / "a").exists()


async def test_what_is_no_lease_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("somebody's")
    (tmp_path / "elsewhere").symlink_to(tmp_path)
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "link").symlink_to(tmp_path)
    leases = leases_of(tmp_path, Clock(BASE_TIME))
    await leases.load()
    assert names(tmp_path) == ["elsewhere", "notes.txt"]
