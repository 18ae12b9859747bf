"""Where the server can be reached, for scripts that asked for port 0."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from server_ng.bootstrap.errors import StartError

__all__ = ["forget_endpoints", "write_endpoints"]

_NAME: Final = "endpoints.json"


def write_endpoints(runtime_path: Path, addresses: Mapping[str, str]) -> None:
    """Writes ``runtime/endpoints.json``; a reader sees the old file or the new one, never half of one."""
    path = runtime_path / _NAME
    fresh = path.with_suffix(".new")
    content = json.dumps({"pid": os.getpid(), **addresses}, indent=2) + "\n"
    try:
        # Left by a start that was killed between the two steps.
        fresh.unlink(missing_ok=True)
        descriptor = os.open(
            fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
        )
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(content)
        fresh.replace(path)
    except OSError as error:
        raise StartError(f"{path} cannot be written: {error.strerror}.") from error


def forget_endpoints(runtime_path: Path) -> None:
    """Removes the file: who waits for it wants the addresses of the run that is to come."""
    path = runtime_path / _NAME
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise StartError(f"{path} cannot be removed: {error.strerror}.") from error
