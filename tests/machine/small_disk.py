"""A file system that is as large as a test wants."""

import subprocess
from pathlib import Path
from typing import Self

__all__ = ["SmallDisk"]


class SmallDisk:
    """In memory, below a folder; with less room than a journal needs until it is given more."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "small"

    def __enter__(self) -> Self:
        self.path.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(self.path)], check=True)
        return self

    def __exit__(self, *_: object) -> None:
        subprocess.run(["umount", "--lazy", str(self.path)], check=True)

    def resize(self, size: str) -> None:
        """In the words of mount."""
        subprocess.run(["mount", "-o", f"remount,size={size}", str(self.path)], check=True)
