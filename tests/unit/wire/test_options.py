"""Options blocks: the vector of the reference, and blocks that are none."""

import pytest

from server_ng.wire.options import (
    BLOCK_BYTES_MAX,
    ENTRIES_MAX,
    Option,
    ValueKind,
    decode_options,
    encode_options,
)
from server_ng.wire.refusals import MalformedError, RefusedError
from server_ng.wire.tables import ErrorCode

BLOCK = bytes.fromhex(
    "020d000000656e666f7263655f6673796e63030100000001020c0000007365676d656e745f73697a650c080000000000"
    "004000000000"
)
OPTIONS = (
    Option("enforce_fsync", ValueKind.BOOL, b"\x01"),
    Option("segment_size", ValueKind.U64, (1 << 30).to_bytes(8, "little")),
)


def field(data: bytes, kind: int = 2) -> bytes:
    return bytes([kind]) + len(data).to_bytes(4, "little") + data


def test_a_block_has_the_layout_of_the_reference() -> None:
    assert decode_options(BLOCK) == OPTIONS
    assert encode_options(OPTIONS) == BLOCK


def test_entries_keep_their_order_and_their_kinds() -> None:
    options = (Option("b", 200, b"\x01"), Option("a", 1, b"x" * 255))
    assert decode_options(encode_options(options)) == options


@pytest.mark.parametrize(
    "block",
    [
        field(b"key"),
        field(b"key") + field(b"", 3),
        field(b"") + field(b"value"),
        field(b"key", 1) + field(b"value"),
        field(b"\xff") + field(b"value"),
        field(b"key") + field(b"value", 0),
        field(b"key") + field(b"x" * 256),
        field(b"key") + field(b"value")[:-1],
        2 * (field(b"key") + field(b"value")),
        b"\x02" + b"\xff" * 4,
    ],
)
def test_what_is_no_block_is_malformed(block: bytes) -> None:
    with pytest.raises(MalformedError):
        decode_options(block)


def test_a_block_is_bounded_in_bytes_and_entries() -> None:
    entries = [Option(f"{number:04}", 1, b"\x00") for number in range(ENTRIES_MAX + 1)]
    assert len(decode_options(encode_options(entries[:-1]))) == ENTRIES_MAX
    for block in (encode_options(entries), bytes(BLOCK_BYTES_MAX + 1)):
        with pytest.raises(RefusedError) as refused:
            decode_options(block)
        assert refused.value.code == ErrorCode.OPTIONS_BLOCK_TOO_LARGE


@pytest.mark.parametrize(
    "option", [Option("key", 0, b"x"), Option("key", 2, b""), Option("key", 2, bytes(256))]
)
def test_an_option_that_no_layout_can_carry_is_refused(option: Option) -> None:
    with pytest.raises(MalformedError):
        encode_options([option])
