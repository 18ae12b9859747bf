"""Where the server can be reached, for scripts that asked for port 0; in our words and in Iggy's."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from server_ng.bootstrap.errors import StartError
from server_ng.bootstrap.runtime_files import RuntimeFiles

__all__ = ["forget_endpoints", "write_endpoints"]

_NAME: Final = "endpoints.json"
# The name and place that programs written for Iggy wait for.
_IGGY_NAME: Final = "current_config.toml"


def write_endpoints(
    runtime_path: Path, addresses: Mapping[str, str], iggy_shape: str, files: RuntimeFiles
) -> None:
    """Writes ``runtime/current_config.toml`` and ``runtime/endpoints.json``; raises `StartError`."""
    endpoints = json.dumps({"pid": os.getpid(), **addresses}, indent=2) + "\n"
    for path, content in ((runtime_path / _IGGY_NAME, iggy_shape), (runtime_path / _NAME, endpoints)):
        try:
            files.write(path, content)
        except OSError as error:
            raise StartError(f"{path} cannot be written: {error.strerror}.") from error


def forget_endpoints(runtime_path: Path) -> None:
    """Removes both files: who waits for one wants the addresses of the run that is to come."""
    for path in (runtime_path / _NAME, runtime_path / _IGGY_NAME):
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise StartError(f"{path} cannot be removed: {error.strerror}.") from error
