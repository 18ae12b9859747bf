"""Appending to an audit file without ever making the server wait.

Lines wait in memory and are written and synced together, one system call at a time on a thread of their own.
They are lost, and counted, when too many wait or the disk takes none. A lost line keeps its number, so that
the gap shows.
"""

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from errno import EEXIST
from pathlib import Path
from typing import Any, Final

import structlog

from server_ng.audit.chain import FIRST, OPENED, PREVIOUS, BadLineError, Fields, Link, append, read

__all__ = ["AuditFile", "NotAnAuditFileError"]

_log = structlog.get_logger()

WAITING_MAX: Final = 4_096
# Longer than any line.
_TAIL_BYTES: Final = 64 * 1024
_MODE: Final = 0o640
_FLAGS: Final = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
_LINE_START: Final = b'{"number":'


class NotAnAuditFileError(Exception):
    """The file that is to be appended to ends with something else than an audit line."""


class AuditFile:
    """The file of one run of the server; continued in another one when it is moved away."""

    def __init__(self, path: Path) -> None:
        """Opens the file, which may be there; raises `OSError` and `NotAnAuditFileError`."""
        self.written = 0
        self.lost = 0
        self._path = path
        self._cluster = ""
        self._descriptor = os.open(path, _FLAGS, _MODE)
        try:
            self._size, self._link, self._last = _end(self._descriptor)
        except (OSError, NotAnAuditFileError):
            os.close(self._descriptor)
            raise
        self.last_op = 0
        """The newest operation that a line of this cluster names."""
        self._written_op = 0
        self._gap = 0
        """Lines lost since the last one that was written."""
        self._is_begun = False
        """Whether a line says that this run goes on with the file."""
        self._waiting: list[Fields | int] = []
        """Lines, and between them how many were lost."""
        self._wake = asyncio.Event()
        self._wake.set()
        self._ended = asyncio.Event()
        self._closing = False
        self._failing = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="audit")

    def begin(self, cluster: str) -> None:
        """Makes the lines from now on those of a cluster."""
        self._cluster = cluster
        self.last_op = self._written_op = _op_of(self._last, cluster)

    def add(self, event: str, op: int, fields: Fields, time_micros: int | None = None) -> None:
        """Takes an event: `op` is its operation, or 0 for the newest one before it."""
        self.last_op = max(self.last_op, op)
        if len(self._waiting) < WAITING_MAX:
            self._waiting.append({**self._head(event, self.last_op, time_micros), **fields})
        else:
            self.lose(1)
        self._wake.set()

    def lose(self, lines: int) -> None:
        """Counts lines that cannot be written."""
        self.lost += lines
        if self._waiting and isinstance(before := self._waiting[-1], int):
            self._waiting[-1] = before + lines
        else:
            self._waiting.append(lines)

    async def run(self) -> None:
        """Writes what waits, until the file is closed and nothing waits any more."""
        while not (self._closing and self._is_done()):
            await self._wake.wait()
            self._wake.clear()
            if not self._is_done():
                batch, self._waiting = self._waiting, []
                await self._write(batch)
        os.close(self._descriptor)
        self._thread.shutdown(wait=False)
        self._ended.set()

    async def close(self, within: float) -> None:
        """Writes what waits, for so many seconds at most."""
        self._closing = True
        self._wake.set()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._ended.wait(), within)

    def _is_done(self) -> bool:
        """Whether nothing waits that could be written."""
        return not self._waiting and (self._is_begun or self._failing)

    def _head(self, event: str, op: int, time_micros: int | None = None) -> dict[str, str | int]:
        now = datetime.now(UTC) if time_micros is None else datetime.fromtimestamp(time_micros / 1e6, UTC)
        time = now.isoformat(timespec="microseconds")
        return {"time": time, "cluster": self._cluster, "op": op, "event": event}

    async def _write(self, batch: list[Fields | int]) -> None:
        try:
            await self._find_file()
            data, link, gap = self._encode(batch)
            await self._append(data)
        except OSError as error:
            self._fail(batch, error)
            return
        lines = data.count(b"\n")
        self._size += len(data)
        self._link, self._gap, self._is_begun = link, gap, True
        self._written_op = max([self._written_op, *(_op_of(entry, self._cluster) for entry in batch)])
        self.written += lines
        if self._failing:
            self._failing = False
            _log.info("audit_resumed", path=str(self._path), lost=self.lost)

    async def _find_file(self) -> None:
        """Goes on in a new file if the old one was moved away, else after the last whole line."""
        try:
            found = await self._call(os.stat, self._path)
        except FileNotFoundError:
            await self._replace()
            return
        held = await self._call(os.fstat, self._descriptor)
        if (found.st_dev, found.st_ino) != (held.st_dev, held.st_ino):
            await self._replace()
        elif held.st_size > self._size and self._failing:
            await self._call(os.ftruncate, self._descriptor, self._size)
        elif held.st_size == 0:
            self._size, self._is_begun = 0, False

    async def _replace(self) -> None:
        descriptor: int = await self._call(os.open, self._path, _FLAGS, _MODE)
        if (await self._call(os.fstat, descriptor)).st_size:
            os.close(descriptor)
            raise FileExistsError(EEXIST, "another file has its name")
        os.close(self._descriptor)
        self._descriptor, self._size, self._is_begun = descriptor, 0, False

    def _encode(self, batch: list[Fields | int]) -> tuple[bytes, Link, int]:
        """The lines of a batch, the link that the last of them makes, and the lines lost after it."""
        link, number = self._link, self._link.number + self._gap
        lines: list[bytes] = []
        begin: list[Fields] = []
        if not self._is_begun:
            begin.append({**self._head(OPENED, self._written_op), PREVIOUS: link.digest.hex()})
        for entry in (*begin, *batch):
            if isinstance(entry, int):
                number += entry
                continue
            number += 1
            line, link = append(link, number, entry)
            lines.append(line)
        return b"".join(lines), link, number - link.number

    async def _append(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            written: int = await self._call(os.write, self._descriptor, rest)
            rest = rest[written:]
        await self._call(os.fdatasync, self._descriptor)

    def _fail(self, batch: list[Fields | int], error: OSError) -> None:
        lines = sum(1 for entry in batch if not isinstance(entry, int))
        self.lost += lines
        self._gap += lines + sum(entry for entry in batch if isinstance(entry, int))
        if not self._failing:
            self._failing = True
            _log.error("audit_lines_lost", path=str(self._path), reason=error.strerror)

    async def _call(self, function: Callable[..., Any], *arguments: object) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._thread, function, *arguments)


def _end(descriptor: int) -> tuple[int, Link, Fields]:
    """The bytes of whole lines, and the last of them; a line that a crash cut off is removed."""
    size = os.fstat(descriptor).st_size
    tail = os.pread(descriptor, _TAIL_BYTES, max(0, size - _TAIL_BYTES))
    whole, line_feed, torn = tail.rpartition(b"\n")
    # A power cut may leave zeroes in the place of a line.
    torn = torn.rstrip(b"\0")
    if torn and not torn.startswith(_LINE_START[: len(torn)]):
        raise NotAnAuditFileError
    if not line_feed:
        if size > _TAIL_BYTES:
            raise NotAnAuditFileError
        os.ftruncate(descriptor, 0)
        return 0, FIRST, {}
    try:
        link, fields, _ = read(whole.rpartition(b"\n")[2], FIRST)
    except BadLineError as error:
        raise NotAnAuditFileError from error
    end = size - len(tail) + len(whole) + 1
    if end < size:
        os.ftruncate(descriptor, end)
    return end, link, fields


def _op_of(fields: Fields | int, cluster: str) -> int:
    """The operation that a line names; 0 if it is of another cluster, or lost."""
    op = None if isinstance(fields, int) or fields.get("cluster") != cluster else fields.get("op")
    return op if isinstance(op, int) else 0
