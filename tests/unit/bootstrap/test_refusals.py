"""Refused logins cannot fill the log."""

import structlog

from server_ng.bootstrap.refusals import Refusals


def test_one_line_a_second_counts_the_others() -> None:
    now = 100.0
    refusals = Refusals(lambda: now)
    with structlog.testing.capture_logs() as logs:
        for _ in range(1000):
            refusals.tell("mallory" * 30, "127.0.0.1:1", throttled=False)
        now += 1
        refusals.tell("bob", "127.0.0.1:2", throttled=True)
    first, second = logs
    assert (len(first["username"]), first["untold"]) == (50, 0)
    assert (second["username"], second["untold"]) == ("bob", 999)
