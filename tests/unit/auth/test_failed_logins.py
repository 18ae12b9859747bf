"""Buckets of failed logins, by a clock that the test moves."""

import pytest

from server_ng.auth.failed_logins import BUCKETS_MAX, FAILURES_MAX, FailedLogins, bucket_of


class Clock:
    """Seconds that pass when they are told to."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def fill(failed: FailedLogins, address: str, name: bytes = b"iggy") -> int:
    """Lets logins fail until no more may; returns how many did."""
    bucket, failures = bucket_of(address, name), 0
    while failed.has_room(bucket):
        failed.add(bucket)
        failures += 1
    return failures


def test_ten_failures_then_one_a_second() -> None:
    clock = Clock()
    failed = FailedLogins(clock)
    assert fill(failed, "192.0.2.1:5000") == FAILURES_MAX
    for seconds, room in ((0.5, 0), (0.5, 1), (3.0, 3), (1_000_000.0, FAILURES_MAX)):
        clock.now += seconds
        assert fill(failed, "192.0.2.1:5000") == room


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("192.0.2.1:5000", "192.0.2.1:6000", True),
        ("192.0.2.1:5000", "192.0.2.2:5000", False),
        ("[2001:db8:0:1::1]:5000", "[2001:db8:0:1:ffff::2]:5000", True),
        ("[2001:db8:0:1::1]:5000", "[2001:db8:0:2::1]:5000", False),
        ("[fe80::1%3]:5000", "[fe80::2%3]:5000", True),
        ("[::ffff:192.0.2.1]:5000", "192.0.2.1:5000", True),
        ("[::ffff:192.0.2.1]:5000", "[::ffff:192.0.2.2]:5000", False),
        ("", "192.0.2.1:5000", False),
    ],
)
def test_an_address_counts_by_its_network(one: str, other: str, same: bool) -> None:
    assert (bucket_of(one, b"iggy") == bucket_of(other, b"iggy")) == same
    assert bucket_of(one, b"iggy") != bucket_of(one, b"root")


def test_a_login_that_did_not_fail_is_taken_back() -> None:
    failed = FailedLogins(Clock())
    bucket = bucket_of("192.0.2.1:5000", b"iggy")
    for _ in range(3 * FAILURES_MAX):
        assert failed.has_room(bucket)
        failed.add(bucket)
        failed.take_back(bucket)
    assert fill(failed, "192.0.2.1:5000") == FAILURES_MAX


def test_the_least_recently_used_bucket_goes_first() -> None:
    failed = FailedLogins(Clock())
    for number in range(BUCKETS_MAX):
        failed.add(bucket_of("192.0.2.1:5000", str(number).encode()))
    # A refused attempt is a use, too.
    assert fill(failed, "192.0.2.1:5000", b"0") == FAILURES_MAX - 1
    failed.add(bucket_of("192.0.2.1:5000", b"one more"))
    assert len(failed) == BUCKETS_MAX
    assert fill(failed, "192.0.2.1:5000", b"0") == 0
    assert fill(failed, "192.0.2.1:5000", b"1") == FAILURES_MAX
    failed.take_back(bucket_of("192.0.2.9:1", b"forgotten"))
