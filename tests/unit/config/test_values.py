"""Durations, sizes, addresses and choices of processors: what is read is what was written."""

from datetime import timedelta
from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server_ng.config.address import Address, parse_address
from server_ng.config.consumer_idle import ConsumerIdle, parse_consumer_idle
from server_ng.config.cpu_allocation import (
    AllCpus,
    AutoCpus,
    CpuAllocation,
    CpuCount,
    CpuRange,
    NumaCpus,
    parse_cpu_allocation,
)
from server_ng.config.duration import format_duration, parse_duration
from server_ng.config.errors import BadValueError
from server_ng.config.size import format_size, parse_size

_MICROSECOND = timedelta(microseconds=1)

numbers = st.integers(0, 8_192)
ranges = st.tuples(st.integers(0, 4_000), st.integers(1, 4_000))
numas = st.builds(NumaCpus, st.lists(numbers, unique=True, max_size=8).map(tuple), numbers, st.booleans())
allocations: st.SearchStrategy[CpuAllocation] = st.one_of(
    st.just(AutoCpus()),
    st.just(AllCpus()),
    st.integers(1, 8_192).map(CpuCount),
    ranges.map(lambda pair: CpuRange(pair[0], pair[0] + pair[1])),
    numas,
)
addresses = st.builds(Address, st.ip_addresses(v=4) | st.ip_addresses(v=6), st.integers(0, 65_535))


@given(st.none() | st.just(timedelta(0)) | st.timedeltas(timedelta(seconds=1), timedelta(days=36_525)))
def test_how_long_a_consumer_counts_survives_being_written(after: timedelta | None) -> None:
    assert parse_consumer_idle(str(ConsumerIdle(after))) == ConsumerIdle(after)


@pytest.mark.parametrize(
    ("text", "after"),
    [("all", None), (" None ", timedelta(0)), ("24 h", timedelta(days=1)), ("1s", timedelta(seconds=1))],
)
def test_how_long_a_consumer_counts_in_words(text: str, after: timedelta | None) -> None:
    assert parse_consumer_idle(text) == ConsumerIdle(after)


@pytest.mark.parametrize("raw", ["", "some", "10", "0", "999ms", 5, None, True])
def test_what_is_no_time_for_a_consumer(raw: object) -> None:
    with pytest.raises(BadValueError):
        parse_consumer_idle(raw)


@given(st.timedeltas(timedelta(0), timedelta(days=36_525)))
def test_a_duration_survives_being_written(value: timedelta) -> None:
    assert parse_duration(format_duration(value)) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("10s", timedelta(seconds=10)),
        ("10 s", timedelta(seconds=10)),
        ("1 m", timedelta(minutes=1)),
        ("7 days", timedelta(days=7)),
        ("1h 30min", timedelta(minutes=90)),
        ("1h30m", timedelta(minutes=90)),
        ("250MS", timedelta(milliseconds=250)),
        ("1000ns", _MICROSECOND),
        ("5usec", timedelta(microseconds=5)),
        ("2 weeks", timedelta(days=14)),
        ("1 year", timedelta(days=365.25)),
        ("0", timedelta(0)),
        ("none", timedelta(0)),
        ("unlimited", timedelta(0)),
        ("Disabled", timedelta(0)),
    ],
)
def test_durations_are_read_as_iggy_reads_them(text: str, value: timedelta) -> None:
    assert parse_duration(text) == value


@pytest.mark.parametrize(
    "raw",
    [
        "",
        " ",
        "10",
        "s",
        "10 lightyears",
        "1.5s",
        "-1s",
        "1s,",
        "1ns",
        "200 years",
        "9" * 400 + "s",
        10,
        1.5,
        True,
        None,
    ],
)
def test_what_is_not_a_duration_is_refused(raw: object) -> None:
    with pytest.raises(BadValueError):
        parse_duration(raw)


@given(st.text(max_size=40))
def test_any_text_is_a_duration_or_refused(text: str) -> None:
    try:
        value = parse_duration(text)
    except BadValueError:
        return
    assert parse_duration(format_duration(value)) == value


@given(st.integers(0, 2**63 - 1))
def test_a_size_survives_being_written(count: int) -> None:
    assert parse_size(format_size(count)) == count


@pytest.mark.parametrize(
    ("raw", "count"),
    [
        ("64 MiB", 64 << 20),
        ("64mib", 64 << 20),
        ("64 MB", 64_000_000),
        ("1.5 GiB", 3 << 29),
        ("1200 B", 1_200),
        ("4k", 4_000),
        ("4Ki", 4_096),
        ("123", 123),
        (123, 123),
        ("unlimited", 0),
    ],
)
def test_sizes_are_read_as_iggy_reads_them(raw: object, count: int) -> None:
    assert parse_size(raw) == count


@pytest.mark.parametrize(
    "raw", ["", "MiB", "1 mile", "-1", -1, "0.3 B", "99 EiB", 2**63, True, 1.0, None, "1" * 500]
)
def test_what_is_not_a_size_is_refused(raw: object) -> None:
    with pytest.raises(BadValueError):
        parse_size(raw)


def test_a_size_is_written_with_the_unit_it_was_meant_in() -> None:
    assert [format_size(count) for count in (64 << 20, 500_000_000, 2_000, 1_200, 0)] == [
        "64 MiB",
        "500 MB",
        "2 KB",
        "1200 B",
        "0 B",
    ]


@given(addresses)
def test_an_address_survives_being_written(address: Address) -> None:
    assert parse_address(str(address)) == address


def test_addresses_know_who_reaches_them() -> None:
    assert parse_address("[::1]:0") == Address(IPv6Address("::1"), 0)
    assert parse_address("[::1]:0").is_loopback
    assert parse_address("localhost:1") == Address(IPv4Address("127.0.0.1"), 1)
    assert not parse_address("0.0.0.0:1").is_loopback
    assert parse_address("[::1]:7").host == "::1"


@pytest.mark.parametrize(
    "raw",
    [
        "",
        "127.0.0.1",
        ":80",
        "127.0.0.1:",
        "127.0.0.1:65536",
        "127.0.0.1:-1",
        "127.0.0.1:+1",
        "127.0.0.1:\N{ARABIC-INDIC DIGIT ONE}",
        "::1:80",
        "[127.0.0.1]:80",
        "[fe80::1%eth0]:80",
        "example.org:80",
        "127.1:80",
        "[::1]80",
        80,
        None,
    ],
)
def test_what_is_not_an_address_is_refused(raw: object) -> None:
    with pytest.raises(BadValueError):
        parse_address(raw)


@given(allocations)
def test_a_choice_of_processors_survives_being_written(value: CpuAllocation) -> None:
    assert parse_cpu_allocation(str(value)) == value


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (4, CpuCount(4)),
        ("0..1", CpuRange(0, 1)),
        ("numa:auto", NumaCpus()),
        ("numa:nodes=0,1;cores=4;no_ht=true", NumaCpus((0, 1), 4, True)),
        ("numa:no_ht=false", NumaCpus((), 0, False)),
    ],
)
def test_choices_of_processors_are_read_as_iggy_reads_them(raw: object, value: CpuAllocation) -> None:
    assert parse_cpu_allocation(raw) == value


@pytest.mark.parametrize(
    "raw",
    [
        "",
        "none",
        0,
        "0",
        -1,
        "-1",
        True,
        1.0,
        "4..4",
        "4..2",
        "1..2..3",
        "..4",
        "99999",
        "numa:",
        "numa:nodes",
        "numa:nodes=a",
        "numa:nodes=0,0",
        "numa:cores=1;cores=2",
        "numa:no_ht=maybe",
        "numa:foo=1",
    ],
)
def test_what_is_not_a_choice_of_processors_is_refused(raw: object) -> None:
    with pytest.raises(BadValueError):
        parse_cpu_allocation(raw)
