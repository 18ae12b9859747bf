"""What is wrong with a segment, by file and place."""

from pathlib import Path
from typing import Self

__all__ = ["DamagedSegmentError", "SegmentDeniedError", "SegmentReadError"]


class SegmentReadError(Exception):
    """A segment cannot be read: its file is gone, or the system refuses."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path, self.reason = path, reason

    def __reduce__(self) -> tuple[type[Self], tuple[Path, str]]:
        return type(self), (self.path, self.reason)


class SegmentDeniedError(SegmentReadError):
    """A segment that this user may not read."""


class DamagedSegmentError(Exception):
    """The bytes at `position` of a segment are not what must be there; nothing from `offset` on was read."""

    def __init__(self, path: Path, position: int, offset: int, reason: str) -> None:
        super().__init__(f"{path} is damaged at byte {position}, from offset {offset} on: {reason}")
        self.path, self.position, self.offset, self.reason = path, position, offset, reason

    def __reduce__(self) -> tuple[type[Self], tuple[Path, int, int, str]]:
        return type(self), (self.path, self.position, self.offset, self.reason)
