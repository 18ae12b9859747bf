"""The files of the runtime directory: written at the start, or as soon as there is room for them."""

from errno import EDQUOT, ENOSPC
from pathlib import Path
from typing import Final

import structlog

from server_ng.auth.private_file import write_private

__all__ = ["RuntimeFiles", "lacks_space"]

_log = structlog.get_logger()

_FULL: Final = frozenset({ENOSPC, EDQUOT})


def lacks_space(error: OSError) -> bool:
    """Whether something was not written because the disk is full."""
    return error.errno in _FULL


class RuntimeFiles:
    """Files for people and scripts. The server does without them, so that it starts on a full disk."""

    def __init__(self) -> None:
        self._unwritten: dict[Path, str] = {}

    def write(self, path: Path, content: str) -> None:
        """Writes a file, or keeps its content until there is room; raises OSError for any other reason."""
        try:
            write_private(path, content)
        except OSError as error:
            if not lacks_space(error):
                raise
            # One of an earlier run says nothing about this one.
            path.unlink(missing_ok=True)
            self._unwritten[path] = content
            _log.warning("runtime_file_unwritten", path=str(path), reason=error.strerror)

    def retry(self) -> None:
        """Writes what found no room before, as far as there is room now."""
        for path, content in list(self._unwritten.items()):
            try:
                write_private(path, content)
            except OSError:
                return
            del self._unwritten[path]
            _log.info("runtime_file_written", path=str(path))

    def forget(self) -> None:
        """Writes nothing more: the run ends."""
        self._unwritten.clear()
