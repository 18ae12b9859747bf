"""Where the server can be reached, for scripts that asked for port 0; in our words and in Iggy's."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from server_ng.bootstrap.errors import StartError

__all__ = ["forget_endpoints", "write_endpoints"]

_NAME: Final = "endpoints.json"
# The name and place that programs written for Iggy wait for.
_IGGY_NAME: Final = "current_config.toml"


def write_endpoints(runtime_path: Path, addresses: Mapping[str, str], iggy_shape: str) -> None:
    """Writes ``runtime/current_config.toml`` and ``runtime/endpoints.json``.

    A reader sees the old file or the new one, never half of one.
    """
    _write(runtime_path / _IGGY_NAME, iggy_shape)
    _write(runtime_path / _NAME, json.dumps({"pid": os.getpid(), **addresses}, indent=2) + "\n")


def forget_endpoints(runtime_path: Path) -> None:
    """Removes both files: who waits for one wants the addresses of the run that is to come."""
    for path in (runtime_path / _NAME, runtime_path / _IGGY_NAME):
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise StartError(f"{path} cannot be removed: {error.strerror}.") from error


def _write(path: Path, content: str) -> None:
    fresh = path.with_suffix(".new")
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
