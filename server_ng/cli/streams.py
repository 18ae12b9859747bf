"""Standard streams that are safe to use, whatever the parent process left of them."""

import io
import os
import sys
from typing import Final, TextIO

from typing_extensions import override

__all__ = ["open_streams"]

_IN: Final = 0
_OUT: Final = 1
_ERR: Final = 2


def open_streams(*, lose_output: bool) -> None:
    """Opens the descriptors 0, 1 and 2 if they are closed; raises `OSError` without a null device.

    Otherwise the kernel would give their numbers to files of the data directory, and a message to standard
    error would overwrite a journal. A closed standard output becomes a second standard error; a closed input
    and a closed error become the null device. Messages to standard error that cannot be written are lost,
    because the exit status matters more. With `lose_output`, so are lines on standard output: a log whose
    disk is full must not end a server.
    """
    _open_if_closed(_IN)
    _open_if_closed(_ERR)
    if not _is_open(_OUT):
        os.dup2(_ERR, _OUT)
    # Not the streams of a test that runs a command in its own process.
    if sys.stdout is sys.__stdout__:
        sys.stdout = _text(_OUT, lossy=lose_output)
    if sys.stderr is sys.__stderr__:
        sys.stderr = _text(_ERR, lossy=True)


def _open_if_closed(number: int) -> None:
    if _is_open(number):
        return
    opened = os.open(os.devnull, os.O_RDWR)
    if opened != number:
        os.dup2(opened, number)
        os.close(opened)
    # Commands that this process runs expect the three to be there, too.
    os.set_inheritable(number, True)


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def _text(number: int, *, lossy: bool) -> TextIO:
    raw = _LossyFile(number, "w", closefd=False) if lossy else io.FileIO(number, "w", closefd=False)
    by_line = number == _ERR or raw.isatty()
    # A path or a name from a client need not be UTF-8, and a message about it must not fail.
    return io.TextIOWrapper(
        io.BufferedWriter(raw), encoding="utf-8", errors="backslashreplace", line_buffering=by_line
    )


class _LossyFile(io.FileIO):
    """A file of messages, which are lost if its reader is gone or its disk is full."""

    @override
    def write(self, data: "bytes | bytearray | memoryview", /) -> int:  # type: ignore[override]
        try:
            written = super().write(data)
        except OSError:
            return len(data)
        # None: a pipe that does not block is full.
        return len(data) if written is None else written
