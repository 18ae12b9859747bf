"""Whether the file system of a new data directory has room for the journals that a start founds."""

import os
from pathlib import Path
from typing import Final

from server_ng.bootstrap.errors import StartError
from server_ng.config.size import format_size
from server_ng.wire.tables import ExitStatus

__all__ = ["check_founding_room"]

_LAYOUT: Final = "LAYOUT"
_BEGUN: Final = "shards.new"
"""What a founding that was cut short has written; the next one deletes it first."""
_MESSAGES_PER_FILE: Final = 2
_FILES: Final = 2
"""The second is made while the server serves already. A journal of one file never frees it."""
_BLOCK: Final = 512
"""The unit of `st_blocks`, whatever the file system's is."""


def check_founding_room(path: Path, shards: int, message_bytes_max: int) -> None:
    """Raises `StartError` before anything is written; a directory that is founded has its journals.

    Other programs may take the room meanwhile. The founding then fails with the file that it could not write.
    """
    if (path / _LAYOUT).exists():
        return
    needed = shards * _FILES * _MESSAGES_PER_FILE * message_bytes_max
    free = _free(path) + _taken(path / _BEGUN)
    if free >= needed:
        return
    raise StartError(
        f"There is no room to found the data directory {path}: the journals of its shards ({shards}) need "
        f"{needed} bytes, and {free} are free. Make room, or set a message_bus.max_message_size below "
        f"{format_size(message_bytes_max)}, of which a journal holds four; it cannot change later.",
        ExitStatus.JOURNAL_IO,
    )


def _free(path: Path) -> int:
    found = os.statvfs(path)
    return found.f_bavail * found.f_frsize


def _taken(folder: Path) -> int:
    return sum(file.lstat().st_blocks * _BLOCK for file in folder.rglob("*"))
