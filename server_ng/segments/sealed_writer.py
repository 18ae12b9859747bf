"""A sealed segment as it is written: batches, digests, footer, and on the disk before anybody hears of it."""

import os
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from server_ng import binding
from server_ng.segments.footer import DIGEST_SPAN, PAGE, Footer, encode_footer
from server_ng.segments.naming import naming

__all__ = ["SealedWriter", "sync_directory"]

_WRITE_BYTES: Final = 4 << 20


class SealedWriter:
    """A new file. One that is left before it is sealed is removed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o640)
        self._room = bytearray(2 * _WRITE_BYTES)
        self._used = 0
        self._digests: list[bytes] = []
        self._sealed = False
        self.bytes = 0
        """Of batches, so far."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._descriptor)
        if not self._sealed:
            self._path.unlink(missing_ok=True)

    def room(self, length: int) -> memoryview:
        """Where the next bytes go, so many at most; `took` says how many came."""
        if len(self._room) - self._used < length:
            larger = bytearray(self._used + length)
            larger[: self._used] = memoryview(self._room)[: self._used]
            self._room = larger
        return memoryview(self._room)[self._used : self._used + length]

    def took(self, length: int) -> None:
        """So many bytes were put into the room."""
        self._used += length
        self.bytes += length
        if self._used >= _WRITE_BYTES:
            self._write(self._used // DIGEST_SPAN * DIGEST_SPAN)

    def seal(self, footer: Footer) -> str:
        """Fills in bytes and digests of the footer, ends with it and syncs; returns its checksum."""
        self._write(self._used)
        padding = -self.bytes % PAGE
        checksum, content = encode_footer(replace(footer, batch_bytes=self.bytes, digests=self._digests))
        self._put(memoryview(bytes(padding) + content + bytes(-len(content) % PAGE)))
        with naming(self._path):
            os.fsync(self._descriptor)
        self._sealed = True
        return checksum

    def _write(self, length: int) -> None:
        whole = memoryview(self._room)[:length]
        self._digests.extend(
            binding.digest(whole[at : at + DIGEST_SPAN]) for at in range(0, length, DIGEST_SPAN)
        )
        self._put(whole)
        rest = bytes(memoryview(self._room)[length : self._used])
        self._room[: len(rest)] = rest
        self._used = len(rest)

    def _put(self, content: memoryview) -> None:
        with naming(self._path):
            while content:
                content = content[os.write(self._descriptor, content) :]


def sync_directory(path: Path) -> None:
    """Puts the names in a directory on the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
