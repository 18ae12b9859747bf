"""A start script: the server under a seccomp filter that knows no io_uring, as default containers have it."""

import ctypes
import os
import struct
import sys

from server_ng import cli

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP = 38, 22
_SECCOMP_MODE_FILTER = 2
_EPERM = 1
# The same number on every architecture, as all calls that are younger than 2019.
_IO_URING_SETUP = 425
_LOAD_NUMBER, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000


def _instruction(code: int, then: int, otherwise: int, value: int) -> bytes:
    return struct.pack("<HBBI", code, then, otherwise, value)


_PROGRAM = b"".join(
    [
        _instruction(_LOAD_NUMBER, 0, 0, 0),
        _instruction(_JUMP_IF_EQUAL, 0, 1, _IO_URING_SETUP),
        _instruction(_RETURN, 0, 0, _ERRNO | _EPERM),
        _instruction(_RETURN, 0, 0, _ALLOW),
    ]
)


class _Filter(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("program", ctypes.c_char_p))


def _seal() -> None:
    c = ctypes.CDLL(None, use_errno=True)
    program = _Filter(len(_PROGRAM) // 8, _PROGRAM)
    if c.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or c.prctl(
        _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program)
    ):
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


if __name__ == "__main__":
    _seal()
    sys.exit(cli.main())
