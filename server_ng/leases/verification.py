"""Whether a file that a job offers is what it says: read off the shards, each call of the codec off the loop.

Looked at are: that it is a file of this user and no link; its footer, and each MiB against its digest; both
checksums of every batch; that its batches ascend, and each is a batch of the segments it is for, whole or a
slice, with the same timestamps and every message byte for byte. Then it is synced.
"""

import asyncio
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from server_ng import binding
from server_ng.leases.adoption import Adoption, Replacement
from server_ng.leases.errors import LeaseRefusedError, Refusal
from server_ng.leases.requests import OutputFile
from server_ng.wire.tables import Halt

__all__ = ["verify"]

_PAGE: Final = 4096
_MIB: Final = 1 << 20
_PIECE_BYTES: Final = 8 * _MIB
_FILE_MODE: Final = 0o640
_END, _MORE_OF_OUTPUT, _MORE_OF_INPUT, _INPUT_ENDED = range(4)


async def verify(lease: Path, adoption: Adoption) -> None:
    """Looks at every file; raises `LeaseRefusedError`."""
    directory = lease / "outputs" / str(adoption.partition)
    with _directory(directory) as place:
        for each in adoption.replacements:
            name = Path(each.output.path).name
            with _file(name, place) as output:
                before = _identity(os.fstat(output))
                await _check_footer(output, each.output, adoption.group)
                await _check_slices(lease, output, each, adoption.partition)
                os.fchmod(output, _FILE_MODE)
                await _off_the_loop(os.fsync, output)
                after = os.stat(name, dir_fd=place, follow_symlinks=False)
                if _identity(after) != before:
                    raise _bad(each.output, "it changed while it was looked at")
        await _off_the_loop(os.fsync, place)


def _bad(output: OutputFile, why: str) -> LeaseRefusedError:
    return LeaseRefusedError(Refusal.BAD_OUTPUT, f"{output.path}: {why}.")


@contextmanager
def _directory(path: Path) -> Iterator[int]:
    """A directory that no link on the way below the lease leads to."""
    descriptors: list[int] = []
    try:
        for name in (path.parents[1], path.parent.name, path.name):
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptors.append(os.open(name, flags, dir_fd=descriptors[-1] if descriptors else None))
        yield descriptors[-1]
    except OSError as error:
        raise LeaseRefusedError(Refusal.BAD_OUTPUT, f"{path} cannot be read: {error.strerror}.") from error
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


@contextmanager
def _file(name: str, directory: int | None = None) -> Iterator[int]:
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
            raise LeaseRefusedError(Refusal.BAD_OUTPUT, f"{name} is no file of the server's user.")
        yield descriptor
    finally:
        os.close(descriptor)


def _identity(found: os.stat_result) -> tuple[int, ...]:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


async def _check_footer(descriptor: int, output: OutputFile, group: int) -> None:
    start = -(-output.bytes // _PAGE) * _PAGE
    digests = -(-output.bytes // _MIB)
    length = -(-(128 + 16 * digests) // _PAGE) * _PAGE
    if os.fstat(descriptor).st_size != start + length:
        raise _bad(output, f"{output.bytes} bytes of batches, padding and a footer are not all it has")
    try:
        numbers, checksum, sums = await _off_the_loop(
            binding.read_footer, await _read(descriptor, output, start, length)
        )
    except binding.InvalidError as error:
        raise _bad(output, str(error)) from error
    said = (numbers[0], numbers[1], numbers[2], numbers[3], *numbers[6:10])
    if checksum.hex() != output.digest or said != (
        group,
        output.first_offset,
        output.last_offset,
        output.messages,
        output.bytes,
        output.min_timestamp,
        output.max_timestamp,
        output.generation,
    ):
        raise _bad(output, f"its footer {checksum.hex()} is not {output.digest}, or says other things")
    padding = await _read(descriptor, output, output.bytes, start - output.bytes)
    if any(padding):
        raise _bad(output, "bytes stand between its batches and its footer")
    for number, expected in enumerate(sums):
        piece = await _read(descriptor, output, number * _MIB, min(_MIB, output.bytes - number * _MIB))
        if await _off_the_loop(binding.digest, piece) != expected:
            raise _bad(output, f"MiB {number} does not fit its digest")


async def _check_slices(lease: Path, descriptor: int, each: Replacement, partition: int) -> None:
    """Each batch of an output is found in the segments of the lease that it is for."""
    slices = _Slices(descriptor, each.output, partition)
    for cut in each.run:
        with _file(str(lease / cut.path)) as whole:
            if await slices.find(whole, cut.bytes, cut.first_offset):
                break
    else:
        raise _bad(each.output, f"offset {slices.after} lies in none of its inputs")
    slices.conclude()


class _Slices:
    """An output that is compared with one input after the other."""

    def __init__(self, descriptor: int, output: OutputFile, partition: int) -> None:
        self._descriptor = descriptor
        self._output = output
        self._partition = partition
        self._position = 0
        self._messages = 0
        self._since, self._until = (1 << 64) - 1, 0
        self.after = output.first_offset
        """No batch that is left begins before this offset."""

    async def find(self, whole: int, valid: int, after: int) -> bool:
        """Looks for the next batches in an input; whether that was all of them."""
        output = self._output
        position = 0
        wanted, wanted_whole = _PIECE_BYTES, _PIECE_BYTES
        while True:
            left = output.bytes - self._position
            piece = await _read(self._descriptor, output, self._position, min(wanted, left))
            other = await _read(whole, output, position, min(wanted_whole, valid - position))
            asked = (left, self.after, valid - position, after, self._partition)
            try:
                found = await _off_the_loop(binding.compare_slices, piece, other, asked)
            except binding.InvalidError as error:
                raise _bad(output, str(error)) from error
            if found.consumed:
                wanted = _PIECE_BYTES
            if found.passed:
                wanted_whole = _PIECE_BYTES
            self._position += found.consumed
            self.after = found.after
            self._messages += found.messages
            self._since, self._until = min(self._since, found.since), max(self._until, found.until)
            position += found.passed
            after = found.whole_after
            match found.halt:
                case Halt.END | Halt.WHOLE_ENDED:
                    return found.halt is Halt.END
                case Halt.SLICES:
                    wanted = max(wanted, found.wanted)
                case Halt.WHOLE:
                    wanted_whole = max(wanted_whole, found.wanted)
                case Halt.FOREIGN:
                    raise _bad(output, found.sentence)

    def conclude(self) -> None:
        """Holds what was found against what the file says of itself."""
        output = self._output
        said = (output.messages, output.min_timestamp, output.max_timestamp)
        found = (self._messages, self._since, self._until)
        if found != said:
            raise _bad(output, f"messages, least and greatest timestamp are {found}, and not {said}")


async def _read(descriptor: int, output: OutputFile, position: int, length: int) -> memoryview:
    room = memoryview(bytearray(length))
    read = 0
    while read < length:
        some = await _off_the_loop(os.preadv, descriptor, [room[read:]], position + read)
        if not some:
            raise _bad(output, f"a file ends at byte {position + read}")
        read += some
    return room


async def _off_the_loop(call: Callable[..., Any], *arguments: object) -> Any:
    """One call that gives the interpreter up."""
    return await asyncio.get_running_loop().run_in_executor(None, call, *arguments)
