"""Work that goes on beside a block of code."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread

__all__ = ["beside"]


@contextmanager
def beside(name: str, work: Callable[[Event], None]) -> Iterator[None]:
    """Runs `work` in a thread. When the block is left the event says so, and its end is waited for."""
    left = Event()
    thread = Thread(target=work, args=(left,), name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        left.set()
        thread.join()
