"""The socket on which a service manager hears of its daemon."""

import os
import select
import socket
import subprocess
import time
from pathlib import Path
from types import TracebackType

# A guard against hanging, not a measurement: a start under strace or on a busy machine is many times slower.
READY_WITHIN = 120.0


class NotifySocket:
    """What NOTIFY_SOCKET names: the test's end of the messages that a daemon sends to systemd."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "notify"
        self.heard: list[str] = []
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(self.path))

    def __enter__(self) -> "NotifySocket":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Listens no more."""
        self._socket.close()
        self.path.unlink(missing_ok=True)

    def forget(self) -> None:
        """Drops what was said so far, so that what is waited for next is said after this."""
        while select.select([self._socket], [], [], 0)[0]:
            self._socket.recv(4096)
        self.heard.clear()

    def silent_for(self, seconds: float) -> bool:
        """Whether nothing is said for so long from now on."""
        self.forget()
        return not select.select([self._socket], [], [], seconds)[0]

    def full(self) -> bool:
        """Whether so much is unread that a sender would have to wait."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.connect(str(self.path))
            return not select.select([], [sender], [], 0)[1]

    @property
    def environment(self) -> dict[str, str]:
        """The variable that leads a daemon here."""
        return {"NOTIFY_SOCKET": str(self.path)}

    def wait_for(self, assignment: str, daemon: subprocess.Popen[str]) -> bool:
        """Wait until the daemon has said this; whether it did, before it ended or the time was over."""
        deadline = time.monotonic() + READY_WITHIN
        end = os.pidfd_open(daemon.pid)
        try:
            while assignment not in self.heard:
                left = deadline - time.monotonic()
                readable, _, _ = select.select([self._socket.fileno(), end], [], [], max(left, 0.0))
                if self._socket.fileno() not in readable:
                    return False
                self.heard += self._socket.recv(4096).decode().split("\n")
        finally:
            os.close(end)
        return True
