"""Events of the native side, which travel as a code and two numbers, as lines of the log."""

from collections.abc import Iterable

import structlog

from server_ng.wire.tables import EVENTS, EventRow

__all__ = ["NativeEvents"]

_log = structlog.get_logger()


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
        write = getattr(_log, row.level)
        write(row.name, message=row.message.format_map(fields), **fields)
