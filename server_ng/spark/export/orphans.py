"""What jobs left below a table whose data files stay where they were written, one folder for each job."""

import shutil
import time
from collections.abc import Callable
from pathlib import Path

__all__ = ["remove_orphans"]


def remove_orphans(data: Path, named: Callable[[], set[Path]], older_than_seconds: float) -> int:
    """Removes the folders of jobs of which the table names no file; returns how many.

    The table is asked after the folders were found: what a job commits meanwhile is named.
    """
    latest = time.time() - older_than_seconds
    found = [folder for folder in data.glob("*") if folder.is_dir() and folder.stat().st_mtime <= latest]
    live = {path.parent for path in named()} if found else set()
    dead = [folder for folder in found if folder not in live]
    for folder in dead:
        shutil.rmtree(folder)
    return len(dead)
