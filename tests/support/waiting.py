"""Waiting for something that a server does in its own time."""

import time
from collections.abc import Callable

__all__ = ["WAIT_MAX", "until"]

# A guard against hanging, not a measurement: a busy machine is many times slower than a quiet one.
WAIT_MAX = 30.0
_LOOK_AGAIN = 0.02


def until(holds: Callable[[], bool], what: str, within: float = WAIT_MAX) -> None:
    """Returns as soon as the condition holds; fails with `what` if it never does."""
    deadline = time.monotonic() + within
    while not holds():
        assert time.monotonic() < deadline, f"never came: {what}"
        time.sleep(_LOOK_AGAIN)
