"""A start script: a command that is killed as it enters, or leaves, its n-th call of the kernel that writes.

kill_at_call.py entry|exit N [from-signal] COMMAND ...

0 for N: nothing is killed, and the calls are counted. With from-signal they are counted from SIGUSR1 on, and
each of these signals is answered with a line as at the end. SIGTERM goes to the command.

Calls are counted over all threads of the command, in the order in which they come. (The injections of strace
count for each thread and each kind of call apart.) The status is the command's own, or 9 if it was killed;
the last line on standard error says how many calls were counted, and which was the last.
"""

import ctypes
import os
import platform
import signal
import struct
import sys
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

KILLED = int(signal.SIGKILL)
"""The status after a kill."""

_WRITES = {
    "x86_64": {
        "pwrite64": 18,
        "fsync": 74,
        "fdatasync": 75,
        "ftruncate": 77,
        "rename": 82,
        "mkdir": 83,
        "rmdir": 84,
        "link": 86,
        "unlink": 87,
        "openat": 257,
        "mkdirat": 258,
        "unlinkat": 263,
        "renameat": 264,
        "linkat": 265,
        "fallocate": 285,
        "pwritev": 296,
        "renameat2": 316,
        "pwritev2": 328,
    },
    "aarch64": {
        "mkdirat": 34,
        "unlinkat": 35,
        "linkat": 37,
        "renameat": 38,
        "ftruncate": 46,
        "fallocate": 47,
        "openat": 56,
        "pwrite64": 68,
        "pwritev": 70,
        "fsync": 82,
        "fdatasync": 83,
        "renameat2": 276,
        "pwritev2": 287,
    },
}[platform.machine()]
# What a ring does is asked for by this call; it has the same number everywhere.
_NAMES = {number: name for name, number in _WRITES.items()} | {426: "io_uring_enter"}
_OPENAT = _WRITES["openat"]

_TRACE_ME, _SYSCALL, _SET_OPTIONS, _GET_SYSCALL_INFO = 0, 24, 0x4200, 0x420E
_OPTIONS = 0x1 | 0x2 | 0x4 | 0x8 | 0x10 | 0x100000
"""Marked stops of calls, forks, threads and execs that are followed, no command that outlives this script."""
_EVERY_CHILD = 0x40000000
_MARKED_TRAP = signal.SIGTRAP | 0x80
_ENTRY, _EXIT = 1, 2
_FROM_SIGNAL = "from-signal"
# Operation, padding, architecture, two pointers; then number and arguments, when a call is entered.
_INFO = struct.Struct("<B3xIQQ7Q")

_C = ctypes.CDLL(None, use_errno=True)
_C.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
_C.ptrace.restype = ctypes.c_long


def killer(at: str, call: int, *, from_signal: bool = False) -> list[str | Path]:
    """What starts a command so that it is killed at its n-th writing call, or at the n-th from SIGUSR1 on."""
    begin = [_FROM_SIGNAL] if from_signal else []
    return [sys.executable, "-I", "-S", Path(__file__), at, str(call), *begin]


def _ptrace(request: int, thread: int, address: int = 0, data: object = None) -> None:
    if _C.ptrace(request, thread, address, data) == -1:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


def _become(command: list[str]) -> NoReturn:
    _ptrace(_TRACE_ME, 0)
    os.kill(os.getpid(), signal.SIGSTOP)
    os.execv(command[0], command)


class _Calls:
    """Counts the calls of all threads until the one that is looked for comes."""

    def __init__(self, wanted: int, at: int, *, counting: bool) -> None:
        self._wanted = wanted
        self._at = at
        self._counting = counting
        self._entered: dict[int, int] = {}
        self.count = 0
        self.last = "none"

    def begin(self, *_signal: object) -> None:
        """From now on calls count."""
        self._counting = True
        self.tell()

    def tell(self) -> None:
        """Says how many there were."""
        os.write(2, f"{self.count} {self.last}\n".encode())

    def is_wanted(self, thread: int) -> bool:
        """Whether this stop of a thread is the moment to kill."""
        info = ctypes.create_string_buffer(_INFO.size)
        _ptrace(_GET_SYSCALL_INFO, thread, len(info), info)
        stop, _, _, _, number, _, _, flags, *_ = _INFO.unpack(info.raw)
        if stop == _ENTRY:
            if not self._counting or number not in _NAMES or (number == _OPENAT and not flags & os.O_CREAT):
                return False
            self.count += 1
            self.last = _NAMES[number]
            self._entered[thread] = self.count
            return self._at == _ENTRY and self.count == self._wanted
        left = self._entered.pop(thread, None)
        return stop == _EXIT and self._at == _EXIT and left == self._wanted


def _trace(leader: int, calls: _Calls) -> int:
    """Lets the command run; returns how it ended, as a status of wait."""
    os.waitpid(leader, 0)
    _ptrace(_SET_OPTIONS, leader, data=_OPTIONS)
    _ptrace(_SYSCALL, leader)
    known = {leader}
    while True:
        thread, status = os.waitpid(-1, _EVERY_CHILD)
        if not os.WIFSTOPPED(status):
            if thread == leader:
                return status
            continue
        passed_on = 0
        number = os.WSTOPSIG(status)
        if number == _MARKED_TRAP:
            if calls.is_wanted(thread):
                os.kill(leader, signal.SIGKILL)
                continue
        elif status >> 16 == 0 and not (number == signal.SIGSTOP and thread not in known):
            passed_on = number
        known.add(thread)
        try:
            _ptrace(_SYSCALL, thread, data=passed_on)
        except ProcessLookupError:
            # Killed between its stop and now: it will be reported.
            continue


def _terminate(leader: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(leader, signal.SIGTERM)


def main() -> int:
    """Runs the command and kills it at its moment."""
    at, wanted, *command = sys.argv[1:]
    from_signal = command[0] == _FROM_SIGNAL
    if from_signal:
        command = command[1:]
    leader = os.fork()
    if leader == 0:
        _become(command)
    calls = _Calls(int(wanted), {"entry": _ENTRY, "exit": _EXIT}[at], counting=not from_signal)
    signal.signal(signal.SIGUSR1, calls.begin)
    signal.signal(signal.SIGTERM, lambda *_signal: _terminate(leader))
    status = _trace(leader, calls)
    # The command may be killed while a test sends these: what counts then is how it ended.
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    calls.tell()
    return os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else os.WTERMSIG(status)


if __name__ == "__main__":
    sys.exit(main())
