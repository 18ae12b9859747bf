"""Files and names put on the disk."""

import os
from pathlib import Path

__all__ = ["sync", "sync_names"]


def sync(path: Path) -> None:
    """Puts a file, or the names in a directory, on the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_names(folder: Path, top: Path) -> None:
    """Puts the names in a folder on the disk, and those of the folders between it and `top`."""
    while folder != top:
        sync(folder)
        folder = folder.parent
    sync(top)
