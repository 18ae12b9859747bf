"""The control socket of a running server, from the side of a job."""

import errno
import json
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self

from server_ng.segments.lease import Lease
from server_ng.segments.socket_path import socket_address

__all__ = ["SOCKET_NAME", "Control", "ControlAbsentError", "ControlError", "ControlRefusedError"]

SOCKET_NAME: Final = "control.sock"


class ControlError(Exception):
    """The server cannot be asked; the message is a sentence."""


class ControlAbsentError(ControlError):
    """No server listens there: it is stopped, or has no leases."""


class ControlRefusedError(ControlError):
    """The server does not do what was asked."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        """One of the words of `server_ng.leases.errors.Refusal`."""


class Control:
    """A connection. It may be used for one request after the other."""

    def __init__(self, path: Path, timeout: float = 600.0) -> None:
        """Connects; raises `ControlError`. An answer may take as long as the shards need to write out."""
        self._path = path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        self._socket.settimeout(timeout)
        try:
            with socket_address(path) as address:
                self._socket.connect(address)
        except OSError as error:
            self._socket.close()
            raise _no_connection(path, error) from error
        self._lines = self._socket.makefile("rb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connection. Leases go on."""
        self._lines.close()
        self._socket.close()

    def ask(self, verb: str, **fields: object) -> dict[str, Any]:
        """The answer to a request; raises `ControlError`."""
        try:
            self._socket.sendall(json.dumps({"verb": verb, **fields}).encode() + b"\n")
            line = self._lines.readline()
        except OSError as error:
            raise ControlError(f"The server at {self._path} does not answer: {error}.") from error
        if not line:
            raise ControlError(f"The server at {self._path} has hung up.")
        answer = dict(json.loads(line))
        if not answer["ok"]:
            raise ControlRefusedError(answer["error"], answer["message"])
        return answer

    def cut(
        self, stream: str | int, topic: str | int, ttl: float, partitions: list[int] | None = None
    ) -> tuple[Path, Lease]:
        """Makes a lease; returns where it is and what it holds."""
        answer = self.ask("cut", stream=stream, topic=topic, ttl=ttl, partitions=partitions)
        return Path(answer["path"]), Lease.of(answer["manifest"])

    def renew(self, lease: str, ttl: float) -> None:
        """Lets a lease last for so many seconds from now on."""
        self.ask("renew", lease=lease, ttl=ttl)

    def release(self, lease: str) -> None:
        """Ends a lease."""
        self.ask("release", lease=lease)

    def adopt(
        self,
        lease: str,
        partition: int,
        inputs: Sequence[Mapping[str, int]],
        outputs: Sequence[Mapping[str, str | int]],
    ) -> int:
        """Lets files take the place of segments of a lease; returns their generation. See docs/leases.md.

        An input has `first_offset` and `generation`; an output `path`, `generation`, `bytes`, `first_offset`,
        `last_offset`, `messages`, `min_timestamp`, `max_timestamp` and `digest`.
        """
        answer = self.ask(
            "adopt",
            lease=lease,
            partition=partition,
            inputs=[dict(each) for each in inputs],
            outputs=[dict(each) for each in outputs],
        )
        return int(answer["generation"])


def _no_connection(path: Path, error: OSError) -> ControlError:
    match error.errno:
        case errno.ENOENT | errno.ECONNREFUSED | errno.ENOTDIR:
            return ControlAbsentError(f"No server listens on {path}.")
        case errno.EACCES | errno.EPERM:
            return ControlError(
                f"{path} is not for this user. Run the job as the server's user, "
                "or let the server name a group of yours with leases.group."
            )
        case _:
            return ControlError(f"{path} cannot be connected to: {error.strerror or error}.")
