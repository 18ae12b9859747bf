"""Refused logins in the log: strangers cause them, so strangers must not be able to fill it."""

import time
from collections.abc import Callable
from typing import Final

import structlog

__all__ = ["Refusals"]

_log = structlog.get_logger()

_SECONDS_PER_LINE: Final = 1.0
# No account has a longer name.
_NAME_MAX: Final = 50


class Refusals:
    """Tells of one refusal a second, with the count of those it did not tell of."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._told: float | None = None
        self._untold = 0

    def tell(self, username: str, address: str, *, throttled: bool) -> None:
        """Logs a refusal, or counts it for the next line."""
        now = self._clock()
        if self._told is not None and now - self._told < _SECONDS_PER_LINE:
            self._untold += 1
            return
        name = username[:_NAME_MAX]
        _log.info("login_refused", username=name, address=address, throttled=throttled, untold=self._untold)
        self._told, self._untold = now, 0
