"""A file system that is as large as a test wants."""

import contextlib
import os
import shutil
import subprocess
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Self

from typing_extensions import override

__all__ = ["Ext4Disk", "MountedDisk", "SmallDisk"]


class MountedDisk(ABC):
    """A file system of its own, below a folder."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "small"
        self._ballast = self.path / "ballast"

    def __enter__(self) -> Self:
        self.path.mkdir()
        self.mount()
        # It has its name before the disk is full.
        self._ballast.touch()
        return self

    def __exit__(self, *_: object) -> None:
        subprocess.run(["umount", "--lazy", str(self.path)], check=True)

    @abstractmethod
    def mount(self) -> None:
        """Makes the file system and mounts it."""

    @property
    def free(self) -> int:
        """Bytes that may still be written."""
        return shutil.disk_usage(self.path).free

    def fill(self, leaving: int = 0) -> None:
        """Takes what is free, but for so many bytes: in large pieces, then in sectors."""
        descriptor = os.open(self._ballast, os.O_WRONLY | os.O_APPEND)
        try:
            for piece in (1 << 20, 4096, 512):
                with contextlib.suppress(OSError):
                    while self.free > leaving:
                        os.write(descriptor, bytes(piece))
        finally:
            os.close(descriptor)

    def empty(self) -> None:
        """Gives back what `fill` took."""
        os.truncate(self._ballast, 0)


class SmallDisk(MountedDisk):
    """In memory; with less room than a journal needs until it is given more."""

    @override
    def mount(self) -> None:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(self.path)], check=True)

    def resize(self, size: str) -> None:
        """In the words of mount."""
        subprocess.run(["mount", "-o", f"remount,size={size}", str(self.path)], check=True)


class Ext4Disk(MountedDisk):
    """An image of 300 MB, of which nothing is kept for root."""

    @override
    def mount(self) -> None:
        image = self.path.with_name("image")
        image.touch()
        os.truncate(image, 300 << 20)
        subprocess.run(["mkfs.ext4", "-q", "-F", "-m", "0", image], check=True)
        subprocess.run(["mount", "-o", "loop", image, self.path], check=True)
