"""A file for this user alone, written whole or not at all."""

import os
from pathlib import Path

__all__ = ["write_private"]


def write_private(path: Path, content: str) -> None:
    """Puts `content` at `path` in one step, for this user alone from the first byte on; raises OSError.

    A reader sees the old file or the new one, never half of one. What fails leaves nothing behind.
    """
    draft = path.with_name(f"{path.name}.new")
    # Left by a start that was killed between the two steps; the lock of the folder says that nobody uses it.
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            os.fchmod(descriptor, 0o600)
            stream.write(content)
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise
