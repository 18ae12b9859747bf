"""The last crash: written by whoever ends the process, told by the next start."""

import contextlib
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import structlog

from server_ng.auth.private_file import write_private
from server_ng.wire.tables import ExitStatus

__all__ = ["LastCrash", "record_crash", "tell_last_crash"]

_log = structlog.get_logger()

_BYTES_MAX: Final = 64 * 1024


def record_crash(path: Path, status: ExitStatus, reason: str) -> None:
    """Leaves the reason of a crash of the control plane where the next start finds it."""
    crash = {
        "status": int(status),
        "name": status.name.lower(),
        "thread": "control plane",
        "reason": reason,
        "at_micros": time.time_ns() // 1000,
    }
    # What cannot be written is lost: the crash goes on.
    with contextlib.suppress(OSError):
        write_private(path, json.dumps(crash) + "\n")


def _read(path: Path) -> bytes:
    """The file, if it is one, and no more of it than a crash can have written."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as stream:
        return stream.read(_BYTES_MAX)


@dataclass(frozen=True, slots=True)
class LastCrash:
    """What is left of a run that crashed."""

    status: int
    at_seconds: float
    """Since the epoch."""


def tell_last_crash(path: Path) -> LastCrash | None:
    """Logs the reason of the last crash of this data directory, if there was one."""
    try:
        crash = json.loads(_read(path))
        fields = {key: crash[key] for key in ("status", "name", "thread", "reason", "at_micros")}
        last = LastCrash(int(crash["status"]), int(crash["at_micros"]) / 1_000_000)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        _log.warning("last_crash_unreadable", path=str(path), error=str(error))
        return None
    _log.warning("last_crash", path=str(path), **fields)
    return last
