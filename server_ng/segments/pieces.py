"""Pieces of a file: mapped from a disk of this machine where that is less work than a copy, else copied."""

import mmap
import os
from pathlib import Path
from typing import Final

from server_ng.segments.damage import SegmentDeniedError, SegmentReadError

__all__ = ["Pieces"]

_MAPPED_FROM: Final = 128 << 10
"""Shorter pieces are copied: to map them costs more, and the kernel reads more around them."""
_HUGE_PAGE: Final = 2 << 20
"""The kernel maps what it has around a page, at most such a block: it goes as a whole."""
_MADV_POPULATE_READ: Final = 22
"""From Linux 5.14 on; this Python has no name for it."""


class Pieces:
    """An open file of which so many bytes are valid. A piece stays what it is until the next one is read."""

    def __init__(self, path: Path, length: int) -> None:
        try:
            self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except PermissionError as error:
            raise SegmentDeniedError(path, "this user may not read it: leases.group may") from error
        except OSError as error:
            raise SegmentReadError(path, f"it cannot be opened: {error.strerror}") from error
        self._copies = _Copies(path, self._descriptor)
        self._mapping = _mapping(self._descriptor, length)

    def close(self) -> None:
        """No piece is read any more."""
        os.close(self._descriptor)

    def read(self, position: int, length: int) -> memoryview:
        """So many bytes from a position on, or fewer if the file ends."""
        if self._mapping is not None and length >= _MAPPED_FROM:
            try:
                return self._mapping.read(position, length)
            except OSError:
                # Copied from here on: that tells what is wrong, and where.
                self._mapping = None
        return self._copies.read(position, length)


class _Copies:
    """Copies each piece into one buffer, which is as long as the longest."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path, self._descriptor = path, descriptor
        self._buffer = bytearray()
        self._held = 0, 0
        """Where in the file the bytes begin that the buffer holds, and how many they are."""

    def read(self, position: int, length: int) -> memoryview:
        read = self._keep(position, length)
        room = memoryview(self._buffer)[:length]
        while read < length:
            try:
                some = os.preadv(self._descriptor, [room[read:]], position + read)
            except OSError as error:
                raise SegmentReadError(self._path, f"byte {position + read}: {error.strerror}") from error
            if not some:
                return room[:read]
            read += some
            self._held = position, max(read, self._held[1])
        return room

    def _keep(self, position: int, length: int) -> int:
        """Moves what the buffer holds from a position on to its front; how much of what is wanted that is.

        The batch at the end of a piece is mostly cut short: what is here of it is not read again.
        """
        begins, held = self._held
        kept = max(0, begins + held - position) if position >= begins else 0
        buffer = self._buffer if len(self._buffer) >= length else bytearray(length)
        if kept:
            start = position - begins
            # From view to view: what overlaps is moved as it must be.
            memoryview(buffer)[:kept] = memoryview(self._buffer)[start : start + kept]
        self._buffer, self._held = buffer, (position, kept)
        return min(kept, length)


def _mapping(descriptor: int, length: int) -> "_Mapping | None":
    """`None` where only copies are safe, or the file is shorter.

    A mapped page that is gone by the time that it is looked at ends the process. The files of a lease are
    never shortened, but a server of files, which has no device here, may forget them.
    """
    if not os.major(os.fstat(descriptor).st_dev):
        return None
    try:
        return _Mapping(mmap.mmap(descriptor, length, mmap.MAP_SHARED, mmap.PROT_READ))
    except (OSError, ValueError):
        return None


class _Mapping:
    """Maps one piece at a time, all of which is read before it is looked at: a bad block is an error here."""

    def __init__(self, mapped: mmap.mmap) -> None:
        self._mapped = mapped
        self._view = memoryview(mapped)
        self._begins = self._ends = 0
        """What is in memory on our account."""
        mapped.madvise(mmap.MADV_SEQUENTIAL)

    def read(self, position: int, length: int) -> memoryview:
        begins, ends = position // _HUGE_PAGE * _HUGE_PAGE, position + length
        passed = min(begins, self._ends) if begins >= self._begins else self._ends
        if passed > self._begins:
            self._mapped.madvise(mmap.MADV_DONTNEED, self._begins, passed - self._begins)
        self._begins, self._ends = begins, ends
        first = position // mmap.PAGESIZE * mmap.PAGESIZE
        self._mapped.madvise(_MADV_POPULATE_READ, first, ends - first)
        return self._view[position:ends]
