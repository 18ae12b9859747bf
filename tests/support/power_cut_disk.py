"""A start script: a block image as a file, whose power is cut at the n-th request from now.

power_cut_disk.py IMAGE MOUNT CUT SEED [lies]

The content of IMAGE is mounted over the file MOUNT, through the kernel's FUSE protocol. A line `cut N` on
standard input lets the power fail at the n-th write or flush from then on: everything that was flushed stays,
of what was written since some of the 512-byte sectors land, drawn by SEED, and the result is CUT. After that
writes and flushes fail. With `lies` a flush is confirmed and forgotten. The script says `ready`, then `cut`,
and ends when standard input does or the file is unmounted.
"""

import ctypes
import errno
import os
import random
import select
import struct
import sys
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path

SECTOR = 512
_BLOCK = 4096
_WRITE_MAX = 1 << 20
_READ_REQUEST = _WRITE_MAX + _BLOCK

_ROOT_MODE = 0o100600
_NOSUID_NODEV = 2 | 4
_DETACH = 2

_REQUEST = struct.Struct("<IIQQIIIHH")
_ANSWER = struct.Struct("<IiQ")
_INIT_ANSWER = struct.Struct("<IIIIHHIIHH32x")
# How long they hold and what they are of, size, times, mode, links, owners, device, block size.
_ATTRIBUTES = struct.Struct("<QII6Q10I")
_OPENED = struct.Struct("<QIi")
_READ_OR_WRITE = struct.Struct("<QQIIQII")
_WRITTEN = struct.Struct("<II")


class Operation(IntEnum):
    """What the kernel asks for; whatever else it asks for, there is not."""

    FORGET = 2
    GETATTR = 3
    SETATTR = 4
    OPEN = 14
    READ = 15
    WRITE = 16
    RELEASE = 18
    FSYNC = 20
    FLUSH = 25
    INIT = 26
    ACCESS = 34
    INTERRUPT = 36
    BATCH_FORGET = 42


_UNANSWERED = (Operation.FORGET, Operation.INTERRUPT, Operation.BATCH_FORGET)
_NEVER_CUT = -1
# Writes of more than a page, and as many pages as said.
_INIT_FLAGS = 1 << 5 | 1 << 22
_PAST_THE_PAGE_CACHE = 1


@dataclass(slots=True)
class Disk:
    """What the image holds now, and what of it is not flushed."""

    content: bytearray
    chance: random.Random
    lies: bool = False
    unflushed: list[tuple[int, bytes]] = field(default_factory=list)
    """Position and former content of each write since the last flush, oldest first."""
    requests_left: int = _NEVER_CUT
    cut: bytes | None = None

    def has_power(self) -> bool:
        """Whether a write or a flush is still to be done; each of them asks once."""
        if self.requests_left > 0:
            self.requests_left -= 1
        return self.requests_left != 0

    def write(self, at: int, data: bytes) -> None:
        """Writes to what a flush will make stable."""
        self.unflushed.append((at, bytes(self.content[at : at + len(data)])))
        self.content[at : at + len(data)] = data

    def flush(self) -> None:
        """Makes everything stable that was written before."""
        if not self.lies:
            self.unflushed.clear()

    def lose_power(self) -> bytes:
        """What the image holds when the power is back: of each unflushed write some sectors have landed."""
        written = []
        stable = bytearray(self.content)
        for at, former in reversed(self.unflushed):
            written.append((at, bytes(stable[at : at + len(former)])))
            stable[at : at + len(former)] = former
        likely = 0.0 if self.lies else self.chance.choice([0.0, 0.1, 0.5, 0.9, 1.0])
        for at, data in reversed(written):
            for sector in range(0, len(data), SECTOR):
                if self.chance.random() < likely:
                    stable[at + sector : at + sector + SECTOR] = data[sector : sector + SECTOR]
        return bytes(stable)


class Mount:
    """A disk as a file of the system."""

    def __init__(self, disk: Disk, path: Path, cut: Path) -> None:
        self._disk = disk
        self._path = path
        self._cut = cut
        # What was asked for may be withdrawn before it is read.
        self._device = os.open("/dev/fuse", os.O_RDWR | os.O_NONBLOCK)
        self._c = ctypes.CDLL(None, use_errno=True)
        options = f"fd={self._device},rootmode={_ROOT_MODE:o},user_id={os.getuid()},group_id={os.getgid()}"
        named = [word.encode() for word in ("power-cut", str(path), "fuse", options)]
        if self._c.mount(*named[:3], _NOSUID_NODEV, named[3]):
            error = ctypes.get_errno()
            raise OSError(error, os.strerror(error), str(path))

    def serve(self) -> None:
        """Answers the kernel until it has nothing more to ask, or whoever started this ends."""
        _say("ready")
        try:
            while True:
                readable, _, _ = select.select([self._device, sys.stdin], [], [])
                if sys.stdin in readable and not self._obey():
                    return
                if self._device in readable:
                    self._answer_one()
        except OSError as error:
            if error.errno != errno.ENODEV:
                raise
        finally:
            # Gone already if that is why there is nothing more to ask.
            self._c.umount2(str(self._path).encode(), _DETACH)

    def _obey(self) -> bool:
        words = sys.stdin.readline().split()
        if words:
            self._disk.requests_left = int(words[1])
        return bool(words)

    def _answer_one(self) -> None:
        try:
            request = os.read(self._device, _READ_REQUEST)
        except (BlockingIOError, FileNotFoundError):
            return
        _, operation, unique, *_ = _REQUEST.unpack_from(request)
        if operation in _UNANSWERED:
            return
        answer = self._perform(operation, request[_REQUEST.size :])
        error, content = (answer, b"") if isinstance(answer, int) else (0, answer)
        head = _ANSWER.pack(_ANSWER.size + len(content), -error, unique)
        try:
            os.writev(self._device, [head, content])
        except FileNotFoundError:
            # Whoever asked was killed and does not wait any more.
            return

    def _perform(self, operation: int, body: bytes) -> bytes | int:
        """The content of the answer, or an error's number."""
        disk = self._disk
        match operation:
            case Operation.INIT:
                pages = _WRITE_MAX // _BLOCK
                return _INIT_ANSWER.pack(7, 31, 0, _INIT_FLAGS, 16, 12, _WRITE_MAX, 1, pages, 0)
            case Operation.GETATTR | Operation.SETATTR:
                size = len(disk.content)
                times = (0,) * 6
                return _ATTRIBUTES.pack(
                    60, 0, 0, 1, size, size // SECTOR, *times, _ROOT_MODE, 1, 0, 0, 0, _BLOCK, 0
                )
            case Operation.OPEN:
                return _OPENED.pack(0, _PAST_THE_PAGE_CACHE, 0)
            case Operation.READ:
                _, at, count, *_ = _READ_OR_WRITE.unpack_from(body)
                return bytes(disk.content[at : at + count])
            case Operation.WRITE | Operation.FSYNC:
                return self._change(operation, body)
            case Operation.RELEASE | Operation.FLUSH | Operation.ACCESS:
                return b""
            case _:
                return errno.ENOSYS

    def _change(self, operation: int, body: bytes) -> bytes | int:
        disk = self._disk
        powered = disk.has_power()
        if operation == Operation.FSYNC:
            if powered:
                disk.flush()
                return b""
        elif powered or disk.cut is None:
            # A write that is under way when the power fails may land in part.
            _, at, count, *_ = _READ_OR_WRITE.unpack_from(body)
            disk.write(at, body[_READ_OR_WRITE.size : _READ_OR_WRITE.size + count])
            if powered:
                return _WRITTEN.pack(count, 0)
        if disk.cut is None:
            disk.cut = disk.lose_power()
            self._cut.write_bytes(disk.cut)
            _say("cut")
        return errno.EIO


def _say(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


def main(image: str, mount: str, cut: str, seed: str, *lies: str) -> int:
    """Serves the image."""
    disk = Disk(bytearray(Path(image).read_bytes()), random.Random(int(seed)), lies=bool(lies))
    Mount(disk, Path(mount), Path(cut)).serve()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
