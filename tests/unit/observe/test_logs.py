"""The log: its forms, its level, and what libraries say."""

import io
import json
import logging
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
import structlog
from typing_extensions import override

from server_ng.config import Secret
from server_ng.observe.logs import configure_logging


class Terminal(io.StringIO):
    """A text stream that says it is a terminal."""

    @override
    def isatty(self) -> bool:
        return True


class Broken(io.StringIO):
    """A text stream whose reader is gone."""

    @override
    def write(self, text: str) -> int:
        raise BrokenPipeError


@pytest.fixture(autouse=True)
def restore() -> Iterator[None]:
    root = logging.getLogger()
    before = (list(root.handlers), root.level)
    yield
    structlog.reset_defaults()
    root.handlers[:], level = before
    root.setLevel(level)


def lines(output: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.getvalue().splitlines()]


def test_a_line_is_json_with_name_level_time_and_fields() -> None:
    output = io.StringIO()
    configure_logging("info", "auto", output)
    structlog.get_logger().info("started", port=8090, path=object)
    (line,) = lines(output)
    assert (line["event"], line["level"], line["port"]) == ("started", "info", 8090)
    assert line["path"] == repr(object)
    assert datetime.fromisoformat(line["time"]).utcoffset() == timedelta(0)


def test_a_terminal_gets_text_and_a_word_overrides_it() -> None:
    terminal = Terminal()
    configure_logging("info", "auto", terminal)
    structlog.get_logger().info("started", port=8090)
    assert "started" in terminal.getvalue()
    with pytest.raises(json.JSONDecodeError):
        lines(terminal)
    output = Terminal()
    configure_logging("info", "json", output)
    structlog.get_logger().info("started")
    assert lines(output)[0]["event"] == "started"


def test_console_text_without_a_terminal_has_no_colours_and_no_raw_control_characters() -> None:
    output = io.StringIO()
    configure_logging("info", "console", output)
    structlog.get_logger().info("login", username="\x1b[31mred\nfake line")
    assert "\x1b" not in output.getvalue()
    assert output.getvalue().count("\n") == 1


@pytest.mark.parametrize(
    ("level", "written"),
    [
        ("trace", ["debug", "info", "warning", "error", "critical"]),
        ("debug", ["debug", "info", "warning", "error", "critical"]),
        ("info", ["info", "warning", "error", "critical"]),
        ("warn", ["warning", "error", "critical"]),
        ("error", ["error", "critical"]),
        ("off", []),
    ],
)
def test_what_is_below_the_level_is_not_written(level: str, written: list[str]) -> None:
    output = io.StringIO()
    configure_logging(level, "json", output)
    log = structlog.get_logger()
    for method in ("debug", "info", "warning", "error", "critical"):
        getattr(log, method)("event")
    assert [line["level"] for line in lines(output)] == written


def test_a_logger_made_before_a_reload_takes_the_new_level() -> None:
    output = io.StringIO()
    log = structlog.get_logger()
    configure_logging("error", "json", output)
    log.info("unseen")
    configure_logging("info", "json", output)
    log.info("seen")
    assert [line["event"] for line in lines(output)] == ["seen"]


def test_libraries_are_heard_from_warnings_on_and_once() -> None:
    output = io.StringIO()
    configure_logging("debug", "json", output)
    configure_logging("debug", "json", output)
    library = logging.getLogger("uvicorn.error")
    library.info("Started server process [%d]", 1)
    library.warning("Invalid HTTP request received.")
    library.log(35, "between two levels")
    (first, second) = lines(output)
    assert (first["event"], first["level"]) == ("library_message", "warning")
    assert (first["source"], first["message"]) == ("uvicorn.error", "Invalid HTTP request received.")
    assert second["level"] == "warning"


def test_an_exception_is_written_with_its_stack_but_without_local_values() -> None:
    output = io.StringIO()
    configure_logging("info", "json", output)
    hidden = "correct-horse"
    try:
        int(f"x{hidden[:0]}")
    except ValueError:
        structlog.get_logger().exception("failed")
        logging.getLogger("asyncio").exception("failed too")
    for line in lines(output):
        assert "ValueError" in line["exception"]
        assert hidden not in line["exception"]


def test_a_secret_is_never_written() -> None:
    for line_format in ("json", "console"):
        output = io.StringIO()
        configure_logging("info", line_format, output)
        structlog.get_logger().info(
            "event", password=Secret("correct-horse"), nested=[Secret("correct-horse")]
        )
        assert "correct-horse" not in output.getvalue()


def test_a_reader_that_is_gone_does_not_stop_the_server() -> None:
    configure_logging("info", "json", Broken())
    structlog.get_logger().info("event")
    closed = io.StringIO()
    configure_logging("info", "json", closed)
    closed.close()
    structlog.get_logger().info("event")


@pytest.mark.parametrize("name", ["\x1b[2J\x1b]0;owned\x07", "\x9b2J", "a\u2028b"])
def test_a_name_cannot_steer_the_terminal(name: str) -> None:
    output = Terminal()
    configure_logging("info", "console", output)
    structlog.get_logger().info("login_refused", username=name)
    shown = output.getvalue()
    assert name not in shown
    assert "login_refused" in shown
