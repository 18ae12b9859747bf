"""Events of the native side, which travel as a code and two numbers, as lines of the log."""

from collections.abc import Iterable
from typing import Final

import structlog

from server_ng.wire.tables import EVENTS, METRICS, EventRow

__all__ = ["NativeEvents"]

_log = structlog.get_logger()

_DISCONNECTED: Final = "client_disconnected"
(_CLOSE_REASONS,) = (
    label.values
    for metric in METRICS
    for label in metric.labels
    if (metric.name, label.name) == ("connection_closes_total", "reason")
)


class NativeEvents:
    """Turns codes back into names, words and fields."""

    def __init__(self, rows: Iterable[EventRow] = EVENTS) -> None:
        self._rows = {row.code: row for row in rows}

    def write(
        self, code: int, first: int, second: int, *, shard: int, time_micros: int, **known: str | int
    ) -> None:
        """Logs one event of `shard` at `time_micros` since the epoch, with what is `known` besides."""
        row = self._rows.get(code)
        # A row that names a shard itself means that one.
        origin = {"shard": shard, "event_micros": time_micros}
        if row is None:
            # The import handshake makes this impossible; a wrong number must still not be lost.
            _log.error("native_event_unknown", code=code, first=first, second=second, **origin)
            return
        fields = origin | dict(zip(row.fields, (first, second), strict=False)) | known
        if row.name == _DISCONNECTED:
            fields["reason"] = _close_reason(second)
        write = getattr(_log, row.level)
        write(row.name, message=row.message.format_map(fields), **fields)


def _close_reason(code: int) -> str | int:
    """The word that the metric of closed connections has for a reason."""
    return _CLOSE_REASONS[code] if code < len(_CLOSE_REASONS) else code
