"""What Python workers of Spark do once, before their first task."""

import gc
from functools import cache

__all__ = ["settle"]


@cache
def settle() -> None:
    """Hides what is imported from the garbage collector.

    A worker collects behind every task, and goes through all modules for it: some 50 ms for a task that reads
    128 MiB in 500.
    """
    gc.freeze()
