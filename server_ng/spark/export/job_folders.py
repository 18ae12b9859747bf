"""The folders of jobs below a table: each writes into one of its own, and what it leaves there is found."""

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final
from uuid import uuid4

__all__ = ["new_job", "remove_orphans"]

_NAMES: Final = "[0-9a-f]" * 32
"""Folders with other names may lie beside, and are of other writers."""


def new_job() -> str:
    """A name for a job and its folder."""
    return uuid4().hex


def remove_orphans(jobs: Path, named: Callable[[], set[str]], older_than_seconds: float) -> int:
    """Removes the folders of jobs that the table names no file of; returns how many.

    The table tells names of jobs and no paths: those are escaped here and absolute there, and what is not
    recognised would be removed. It is asked after the folders were found: what a job commits meanwhile is
    named.
    """
    latest = time.time() - older_than_seconds
    found = [folder for folder in jobs.glob(_NAMES) if folder.is_dir() and folder.stat().st_mtime <= latest]
    live = named() if found else set()
    dead = [folder for folder in found if folder.name not in live]
    for folder in dead:
        shutil.rmtree(folder)
    return len(dead)
