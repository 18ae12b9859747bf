"""Options that cannot be meant, refused before a session does anything."""

import pytest

from server_ng.spark.errors import OptionError
from server_ng.spark.options import Options


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"subscribe": "orders/events,orders/other"}, "subscribe: one topic for each table"),
        ({"assign": '{"orders/events": [0], "orders/other": [1]}'}, "assign: one topic for each table"),
        ({"startingTimestamp": '{"0": 1}'}, "startingTimestamp: one time for all partitions"),
        ({"endingTimestamp": '{"0": 1}'}, "endingTimestamp: one time for all partitions"),
        ({"subscribePattern": "orders/.*"}, "subscribePattern is not an option"),
        ({"startingOffsetsByTimestamp": '{"0": -2}'}, "'0': -2 is no number for a partition"),
        (
            {"endingTimestamp": "1", "endingOffsetsByTimestamp": '{"0": 1}'},
            "endingOffsets, endingTimestamp and endingOffsetsByTimestamp exclude each other",
        ),
        ({"startingOffsetsByTimestampStrategy": "first"}, "'first' is none of latest, error"),
        ({"startingOffsets": "oldest"}, "startingOffsets: 'oldest' is not earliest, latest or JSON"),
        ({"maxTriggerDelay": "soon"}, "maxTriggerDelay: 'soon' is not a time as 500ms, 30s, 15m or 1h"),
        ({"cutIntervalMillis": "0"}, "cutIntervalMillis: '0' is not a number"),
    ],
)
def test_what_is_not_built_is_refused_in_a_sentence(options: dict[str, str], says: str) -> None:
    with pytest.raises(OptionError, match=says):
        Options.parse({"path": "lease", **options})


def test_a_comma_may_be_part_of_a_name() -> None:
    assert Options.parse({"path": "lease", "subscribe": "orders/a,b"}).topic == "a,b"
