"""The control socket as a job sees it: lines of JSON."""

import json
import socket
from pathlib import Path
from typing import Any, Self

__all__ = ["Control"]

_PATIENCE = 30.0


class Control:
    """A connection to the control socket of a node."""

    def __init__(self, path: str | Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(_PATIENCE)
        try:
            self._socket.connect(str(path))
        except OSError:
            self._socket.close()
            raise
        self._lines = self._socket.makefile("rb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._lines.close()
        self._socket.close()

    def say(self, line: bytes) -> None:
        """Sends bytes as they are."""
        self._socket.sendall(line)

    def hear(self) -> dict[str, Any]:
        """The next answer; empty when the server has hung up."""
        line = self._lines.readline()
        return dict(json.loads(line)) if line else {}

    def ask(self, verb: str, **fields: object) -> dict[str, Any]:
        """Asks and returns the answer, whatever it is."""
        self.say(json.dumps({"verb": verb, **fields}).encode() + b"\n")
        return self.hear()

    def cut(self, stream: str, topic: str, ttl: float = 600, partitions: list[int] | None = None) -> Path:
        """Makes a lease; returns where it is."""
        answer = self.ask("cut", stream=stream, topic=topic, ttl=ttl, partitions=partitions)
        assert answer["ok"], answer
        return Path(answer["path"])
