"""What a verification names: every change of one byte, and every line that is gone."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server_ng.audit.chain import FIRST, OPENED, PREVIOUS, append
from server_ng.audit.verify import verify

CHANGED = "was changed, or lines before it were changed, added or removed."


def lines(count: int) -> list[bytes]:
    """A file with so many lines."""
    link, written = FIRST, []
    for number in range(1, count + 1):
        fields = {"event": OPENED, PREVIOUS: link.digest.hex()} if number == 1 else {"event": f"e{number}"}
        line, link = append(link, number, fields)
        written.append(line)
    return written


def fault(of: Iterable[bytes]) -> str | None:
    return verify(of).fault


FILE = lines(6)


def test_a_whole_file_has_no_fault() -> None:
    proof = verify(FILE)
    assert (proof.lines, proof.fault) == (6, None)
    assert proof.last is not None
    assert proof.last.number == 6
    assert verify([]).lines == 0


@given(at=st.integers(0, len(b"".join(FILE)) - 1), bit=st.integers(0, 7))
def test_a_bit_that_is_changed_is_named(at: int, bit: int) -> None:
    content = bytearray(b"".join(FILE))
    line = content[:at].count(b"\n") + 1
    content[at] ^= 1 << bit
    proof = verify(bytes(content).splitlines(keepends=True))
    assert proof.fault is not None
    # A digest that is changed shows in its own line, or as no digest at all.
    assert proof.lines in (line - 2, line - 1)


@pytest.mark.parametrize("at", range(1, 5))
def test_a_line_that_is_removed_is_named(at: int) -> None:
    assert fault(FILE[:at] + FILE[at + 1 :]) == f"Line {at + 1} {CHANGED}"


def test_lines_that_change_places_are_named() -> None:
    assert fault([*FILE[:2], FILE[3], FILE[2], *FILE[4:]]) == f"Line 3 {CHANGED}"
    assert fault([*FILE[:2], *FILE[1:]]) == f"Line 3 {CHANGED}"


def test_a_file_begins_at_its_beginning() -> None:
    assert fault(FILE[1:]) == "Line 1 is not a line of an audit file."
    line, _ = append(FIRST, 1, {"event": "forged", PREVIOUS: FIRST.digest.hex()})
    assert fault([line]) == "Lines are missing before line 1: it does not begin a file."


@pytest.mark.parametrize(
    "line", [b"\n", b"{}\n", b'{"number":1}\n', b'{"number":1,[,"chain":"' + b"0" * 64 + b'"}\n']
)
def test_what_is_no_line_is_named(line: bytes) -> None:
    assert fault([line]) == "Line 1 is not a line of an audit file."
    assert fault([*FILE, line]) == "Line 7 is not a line of an audit file."


def test_a_line_that_is_cut_off_is_named() -> None:
    for end in range(1, len(FILE[5])):
        said = fault([*FILE[:5], FILE[5][:end]])
        assert said == "Line 6 is cut off. The server removes such a line when it starts."
