"""Durations and sizes as clients write them."""

import pytest

from server_ng.metadata.quantities import U64_MAX, microseconds, size_bytes, whole_number


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0),
        ("5000000", 5_000_000),
        (str(U64_MAX), U64_MAX),
        ("5s", 5_000_000),
        ("7 days", 7 * 86_400_000_000),
        ("1h 30m", 5_400_000_000),
        ("1h30min", 5_400_000_000),
        ("1M", 2_630_016_000_000),
        ("1m", 60_000_000),
        ("1000 ns", 1),
        ("1 ns", None),
        ("18446744073709551616", None),
        ("600000 years", None),
        ("99999999999999999999y", None),
        ("1.5h", None),
        ("-1s", None),
        ("1 fortnight", None),
        ("1s!", None),
        ("\N{ARABIC-INDIC DIGIT ONE}s", None),
        ("5 \N{LATIN SMALL LETTER LONG S}", None),
        ("", None),
        (" ", None),
    ],
)
def test_durations(text: str, expected: int | None) -> None:
    assert microseconds(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0),
        ("1048576", 1 << 20),
        (str(U64_MAX), U64_MAX),
        ("1 GiB", 1 << 30),
        ("128MiB", 128 << 20),
        ("2GB", 2_000_000_000),
        ("1.5 kib", 1_536),
        ("12 b", 12),
        ("3 Ki", 3_072),
        ("1.3 B", None),
        ("16 EiB", None),
        ("1 parsec", None),
        ("1 XB", None),
        ("-1", None),
        ("1 \N{KELVIN SIGN}iB", None),
        ("\N{FULLWIDTH DIGIT ONE}", None),
        ("", None),
    ],
)
def test_sizes(text: str, expected: int | None) -> None:
    assert size_bytes(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("12", 12), (str(U64_MAX), U64_MAX), (str(U64_MAX + 1), None), ("+1", None), ("1_0", None), ("", None)],
)
def test_whole_numbers(text: str, expected: int | None) -> None:
    assert whole_number(text) == expected
