"""A start script: the server as it is, with the fault that NG_TEST_FAULT names. On SIGUSR1,

freeze SECONDS   the control plane's thread sleeps in a C call and keeps the interpreter to itself
panic SHARD      the shard panics
stall MILLIS SHARD   the shard does not turn for so long
misroute SHARD   the next request for a partition from another shard names a wrong receiver
callback         a callback of the event loop raises
task             the next login's task raises

Two are there from the start on, and need no signal:

fold NAME        the row of a stream of this name raises when it is written
rows             the stored rows of the metadata do not fit together
"""

import ctypes
import os
import signal
import struct
import sys
from collections.abc import Callable
from typing import Any

from server_ng import cli
from server_ng.auth import Authenticator
from server_ng.engine.pump import Pump
from server_ng.metadata.machine import Metadata
from server_ng.metadata.rows import BadRowsError, StreamRow
from server_ng.wire.tables import FaultKind

# `PyDLL` keeps the interpreter's lock during the call, as a busy extension module would.
_C = ctypes.PyDLL(None)


def _freeze(seconds: int) -> None:
    left = seconds
    # A signal cuts a sleep short, and what is left is slept again.
    while left > 0:
        left = int(_C.sleep(left))


def _record(kind: int, shard: str, body: bytes) -> bytes:
    return struct.pack("<IHHQ", 16 + len(body), kind, int(shard), 0) + body


def _raise() -> None:
    raise RuntimeError("a fault that a test asked for")


async def _fail(*_arguments: Any) -> None:
    _raise()


def _fault_in_fold(name: str) -> None:
    decode = StreamRow.decode

    def decode_others(value: bytes) -> StreamRow:
        row = decode(value)
        if row.name == name:
            _raise()
        return row

    StreamRow.decode = decode_others  # type: ignore[method-assign]


def _refuse_rows(*_arguments: Any) -> None:
    raise BadRowsError("a fault that a test asked for")


def _fault(pump: Pump, words: list[str]) -> Callable[[], None]:
    match words:
        case ["freeze", seconds]:
            return lambda: _freeze(int(seconds))
        case ["panic", shard]:
            return lambda: pump.send(_record(FaultKind.PANIC, shard, b""))
        case ["stall", millis, shard]:
            return lambda: pump.send(_record(FaultKind.STALL, shard, struct.pack("<Q", int(millis))))
        case ["misroute", shard]:
            return lambda: pump.send(_record(FaultKind.MISROUTE, shard, b""))
        case ["callback"]:
            return _raise
        case _:
            raise SystemExit(f"no such fault: {words}")


def main() -> int:
    """Runs the server's own command line."""
    words = os.environ["NG_TEST_FAULT"].split()
    match words:
        case ["task"]:
            Authenticator.verify = _fail  # type: ignore[assignment, method-assign]
            return cli.main()
        case ["fold", name]:
            _fault_in_fold(name)
            return cli.main()
        case ["rows"]:
            Metadata.load = _refuse_rows  # type: ignore[assignment, method-assign]
            return cli.main()
    start = Pump.start

    def start_and_listen(pump: Pump) -> None:
        start(pump)
        pump._loop.add_signal_handler(signal.SIGUSR1, _fault(pump, words))

    Pump.start = start_and_listen  # type: ignore[assignment, method-assign]
    return cli.main()


if __name__ == "__main__":
    sys.exit(main())
