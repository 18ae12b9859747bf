"""The log: one line per event on standard output, JSON for machines or coloured text on a terminal."""

import json
import logging
from collections.abc import Sequence
from typing import Final, TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger
from typing_extensions import override

__all__ = ["configure_logging"]

# Iggy knows a level below debug; nothing in Python is finer than debug.
_LEVELS: Final = {
    "trace": logging.DEBUG,
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warn": logging.WARNING,
    "error": logging.ERROR,
    "off": logging.CRITICAL,
}


def configure_logging(level: str, line_format: str, output: TextIO) -> None:
    """Makes every log of the process go to `output`; called again, it changes the level.

    `level` and `line_format` are the words of ``system.logging``.
    """
    console = line_format == "console" or (line_format == "auto" and output.isatty())
    threshold = _LEVELS[level]
    structlog.configure(
        processors=_processors(level, console, output.isatty()),
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=_LineWriter(output),
        # A cached logger would keep the level it was first used with, and SIGHUP could not change it.
        cache_logger_on_first_use=False,
    )
    _adopt_standard_logging(threshold)


def _processors(level: str, console: bool, colours: bool) -> Sequence[Processor]:
    shared: list[Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
        structlog.processors.format_exc_info,
    ]
    if level == "off":
        return [_drop]
    if console:
        shared.append(_show_controls)
        return [*shared, structlog.dev.ConsoleRenderer(colors=colours, timestamp_key="time")]
    return [*shared, structlog.processors.JSONRenderer(serializer=json.dumps, default=repr)]


def _show_controls(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    """Shows control characters as escapes: names that clients choose must not steer a terminal."""
    return {key: _printable(value) for key, value in event.items()}


def _printable(value: object) -> object:
    # What we format ourselves, a traceback, is made of lines.
    if not isinstance(value, str) or value.replace("\n", "").isprintable():
        return value
    return ascii(value)[1:-1]


def _drop(_logger: WrappedLogger, _method: str, _event: EventDict) -> EventDict:
    raise structlog.DropEvent


class _LineWriter:
    """Writes each line at once, and is its own factory. A line that cannot be written is lost, not fatal."""

    def __init__(self, output: TextIO) -> None:
        self._output = output

    def __call__(self, *_names: object) -> "_LineWriter":
        return self

    def msg(self, line: str) -> None:
        """Writes one line."""
        try:
            self._output.write(f"{line}\n")
            self._output.flush()
        except (OSError, ValueError):
            # The reader of the log is gone, and the log is the only place where that could be said.
            return

    debug = info = warning = error = critical = msg


class _ToStructlog(logging.Handler):
    """Carries what libraries log with the standard library."""

    @override
    def emit(self, record: logging.LogRecord) -> None:
        log = structlog.get_logger()
        severity = min(max(record.levelno // 10 * 10, logging.DEBUG), logging.CRITICAL)
        fields = {"exc_info": record.exc_info} if record.exc_info else {}
        log.log(severity, "library_message", source=record.name, message=record.getMessage(), **fields)


def _adopt_standard_logging(threshold: int) -> None:
    root = logging.getLogger()
    for handler in [handler for handler in root.handlers if isinstance(handler, _ToStructlog)]:
        root.removeHandler(handler)
    root.addHandler(_ToStructlog())
    # Libraries tell at info that they were started, which the daemon says itself.
    root.setLevel(max(threshold, logging.WARNING))
