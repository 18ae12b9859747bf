"""Who may look at leases besides the server's user: the group that `leases.group` names, or nobody.

Modes are set one by one: whatever the umask takes away is given to that group, and to nobody else.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["NOBODY_ELSE", "Access"]

_READ: Final = 0o640
_LIST: Final = 0o750
_PASS: Final = 0o710


@dataclass(frozen=True, slots=True)
class Access:
    """For a group; None for nobody, which leaves everything as it is made."""

    group: int | None

    def pass_through(self, directory: Path) -> None:
        """Lets the group reach what is below a directory by name, and not list it."""
        self._give(directory, _PASS)

    def look_into(self, directory: Path) -> None:
        """Lets the group read a directory."""
        self._give(directory, _LIST)

    def read(self, file: Path | int) -> None:
        """Lets the group read a file. One that has several names is read by it wherever it gets to one."""
        self._give(file, _READ)

    def _give(self, path: Path | int, mode: int) -> None:
        if self.group is None:
            return
        # It has the server's group as it is made; a unit may not let it take another.
        if os.stat(path).st_gid != self.group:  # noqa: PTH116 - it may be a descriptor
            os.chown(path, -1, self.group)
        os.chmod(path, mode)  # noqa: PTH101 - the same


NOBODY_ELSE: Final = Access(None)
