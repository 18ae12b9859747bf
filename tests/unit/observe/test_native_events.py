"""Native events: every row of the table can be written."""

import pytest
import structlog

from server_ng.observe.native_events import NativeEvents
from server_ng.wire.tables import EVENTS, EventRow


@pytest.mark.parametrize("row", EVENTS, ids=lambda row: row.name)
def test_every_row_becomes_a_line(row: EventRow) -> None:
    with structlog.testing.capture_logs() as logs:
        NativeEvents().write(row.code, 41, 42, shard=3, time_micros=5)
    (line,) = logs
    assert (line["event"], line["log_level"], line["event_micros"]) == (row.name, row.level, 5)
    assert [line[field] for field in row.fields] == [41, 42][: len(row.fields)]
    assert line["shard"] == (3 if "shard" not in row.fields else line["shard"])
    assert "{" not in line["message"]


def test_an_unknown_code_is_not_lost() -> None:
    with structlog.testing.capture_logs() as logs:
        NativeEvents().write(65_535, 1, 2, shard=0, time_micros=5)
    (line,) = logs
    assert (line["event"], line["code"], line["log_level"]) == ("native_event_unknown", 65_535, "error")
