"""Recognizes a data directory of Apache Iggy, which must never become ours."""

import os.path
from pathlib import Path
from typing import Final

from server_ng.bootstrap.errors import StartError

__all__ = ["refuse_iggy_data"]

_OWN_NAME: Final = "LAYOUT"
_IGGY_FOLDERS: Final = ("streams", "state", "metadata")
"""Folders that Iggy 0.8 (`state`, `streams`) and 0.9 (`metadata`, `streams`) make in their `system.path`.

None of them is ours. Folders that both servers make, such as `runtime`, prove nothing.
"""


def refuse_iggy_data(path: Path) -> None:
    """Raises `StartError` if only Iggy has used this directory; reads names, and writes nothing.

    Both servers default to `local_data`. Without this check, a user who swaps the binary would see an empty
    server, and would have the files of both servers mixed in one directory.
    """
    if os.path.lexists(path / _OWN_NAME):
        return
    # Not `Path.is_dir`, which raises where this user may not look: the lock names that fault better.
    found = [name for name in _IGGY_FOLDERS if os.path.isdir(path / name)]  # noqa: PTH112
    if found:
        raise StartError(
            f"The directory {path} (system.path) holds data of Apache Iggy ({', '.join(found)}), "
            "which this server cannot read. "
            "Set system.path to another directory, or move the old one away; nothing in it was changed."
        )
