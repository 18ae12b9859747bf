"""Errors of the system that do not say of which file they are."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["naming"]


@contextmanager
def naming(path: Path | str) -> Iterator[None]:
    """Whatever the system refuses in the block, and names no file for, is told with this one."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise
