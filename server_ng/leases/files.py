"""The directories of leases: `<data>/leases/<id>/`, manifest, time to end, and one below for each partition.

What takes the kernel long is done off the loop, and never by bytecode: one call for each file.
"""

import asyncio
import os
import secrets
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import structlog

from server_ng.leases.access import NOBODY_ELSE, Access
from server_ng.segments.lease import MANIFEST_NAME, Lease, LeaseError

__all__ = ["LeaseFiles"]

_log = structlog.get_logger()

_EXPIRY_NAME: Final = "expires"
_DIRECTORY_MODE: Final = 0o750
_FILE_MODE: Final = 0o640


class LeaseFiles:
    """All that leases have on the disk."""

    def __init__(self, root: Path, access: Access = NOBODY_ELSE) -> None:
        self._root, self._access = root, access

    def found(self) -> Iterator[tuple[str, Lease | None, int]]:
        """Every lease on the disk: name, manifest unless it is not whole, and when it ends, microseconds."""
        if not self._root.is_dir():
            return
        for directory in sorted(self._root.iterdir()):
            if directory.is_symlink() or not directory.is_dir():
                _log.warning("not_a_lease", path=str(directory))
                continue
            try:
                lease = Lease.read(directory)
                expiry = int((directory / _EXPIRY_NAME).read_text())
            except (LeaseError, OSError, ValueError):
                yield directory.name, None, 0
            else:
                yield directory.name, lease, expiry

    def path(self, lease: str) -> Path:
        """Where a lease is."""
        return self._root / lease

    async def make(self, lease: str, groups: Iterable[int]) -> dict[int, Path]:
        """Makes the directories of a lease: one for each group."""
        self._root.mkdir(mode=_DIRECTORY_MODE, exist_ok=True)
        path = self.path(lease)
        path.mkdir(mode=_DIRECTORY_MODE)
        places = {group: path / f"{group:016x}" for group in groups}
        for place in places.values():
            place.mkdir(mode=_DIRECTORY_MODE)
        for directory in (self._root, path, *places.values()):
            self._access.look_into(directory)
        await _sync_directory(self._root)
        return places

    async def write(self, lease: Lease, expires: int) -> None:
        """Writes when a lease ends, and then its manifest: with that it is whole."""
        path = self.path(lease.lease)
        if self._access is not NOBODY_ELSE:
            for segment in (segment for cut in lease.partitions for segment in cut.segments):
                await _off_the_loop(self._access.read, path / segment.path)
        await self.expire_at(lease.lease, expires)
        await _replace(path / MANIFEST_NAME, lease.encode().encode(), self._access)

    async def expire_at(self, lease: str, micros: int) -> None:
        """Writes down when a lease ends."""
        await _replace(self.path(lease) / _EXPIRY_NAME, f"{micros}\n".encode(), self._access)

    async def remove(self, lease: str) -> None:
        """Removes a lease; its manifest first, so that no reader takes up what is going."""
        path = self.path(lease)
        (path / MANIFEST_NAME).unlink(missing_ok=True)
        for directory, folders, names in os.walk(path, topdown=False):
            for name in (*names, *_links(directory, folders)):
                # The last link to a segment takes its blocks along.
                await _off_the_loop(os.unlink, Path(directory, name))
            await _off_the_loop(os.rmdir, directory)


def _links(directory: str, folders: Iterable[str]) -> Iterator[str]:
    """Names of folders that are elsewhere."""
    return (name for name in folders if Path(directory, name).is_symlink())


async def _replace(path: Path, content: bytes, access: Access) -> None:
    # Several may write the same file at once.
    fresh = path.with_name(f"{path.name}.{secrets.token_hex(4)}.new")
    try:
        await _write(fresh, content, access)
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
    await _sync_directory(path.parent)


async def _write(path: Path, content: bytes, access: Access) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _FILE_MODE)
    try:
        access.read(descriptor)
        left = memoryview(content)
        while left:
            left = left[await _off_the_loop(os.write, descriptor, left) :]
        await _off_the_loop(os.fsync, descriptor)
    finally:
        os.close(descriptor)


async def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        await _off_the_loop(os.fsync, descriptor)
    finally:
        os.close(descriptor)


async def _off_the_loop(call: Callable[..., Any], *arguments: object) -> Any:
    """One system call that gives the interpreter up."""
    return await asyncio.get_running_loop().run_in_executor(None, call, *arguments)
