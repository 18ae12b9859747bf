"""Telling systemd how the service is doing; without systemd, nothing."""

import socket
import time
from collections.abc import Mapping
from datetime import timedelta
from typing import Final

import structlog

__all__ = ["ServiceNotifier"]

_log = structlog.get_logger()
# systemd reads at once; a socket that stays full for so long has no reader, and a start must not hang on it.
_SEND_SECONDS_MAX: Final = 1.0


class ServiceNotifier:
    """The service's side of sd_notify. The watchdog is not fed here: the native supervisor does it."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        name = environment.get("NOTIFY_SOCKET", "")
        # An abstract socket is written with @ for its leading zero byte.
        self._address = f"\0{name[1:]}" if name.startswith("@") else name
        if name and not name.startswith(("@", "/")):
            _log.warning("notify_socket_ignored", reason="only unix sockets are supported")
            self._address = ""

    @property
    def present(self) -> bool:
        """Whether somebody listens."""
        return bool(self._address)

    def ready(self, status: str) -> None:
        """The service is up."""
        self._send("READY=1", f"STATUS={status}")

    def status(self, status: str) -> None:
        """A line for ``systemctl status``."""
        self._send(f"STATUS={status}")

    def stopping(self, status: str) -> None:
        """The service goes down."""
        self._send("STOPPING=1", f"STATUS={status}")

    def reloading(self) -> None:
        """The configuration is read again; `ready` ends it."""
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1_000
        self._send("RELOADING=1", f"MONOTONIC_USEC={now}")

    def extend_timeout(self, by: timedelta) -> None:
        """Start or stop goes on and needs at least so much more time."""
        self._send(f"EXTEND_TIMEOUT_USEC={by // timedelta(microseconds=1)}")

    def _send(self, *lines: str) -> None:
        if not self._address:
            return
        # A line break inside a status would begin an assignment of its own.
        message = "\n".join(line.replace("\n", " ") for line in lines)
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
                channel.settimeout(_SEND_SECONDS_MAX)
                channel.connect(self._address)
                channel.send(message.encode())
        except OSError as error:
            _log.warning("notify_failed", reason=str(error))
