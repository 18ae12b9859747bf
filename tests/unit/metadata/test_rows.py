"""Rows: their bytes, and bytes that are none."""

from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server_ng.metadata.deltas import Delete, Delta, Put, decode_deltas, encode_deltas
from server_ng.metadata.rows import (
    COUNTERS_KEY,
    NEXT_USER_KEY,
    BadRowsError,
    Compression,
    Counters,
    Durability,
    PartitionRow,
    StreamRow,
    TopicRow,
    UserRow,
    decode_next_user,
    encode_next_user,
    key_path,
    partition_key,
    stream_key,
    topic_key,
    user_key,
)
from server_ng.wire.tables import UserStatus

Row: TypeAlias = Counters | StreamRow | TopicRow | PartitionRow | UserRow

U32 = st.integers(0, 2**32 - 1)
U64 = st.integers(0, 2**64 - 1)
NAME = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
BLOCK = st.binary(max_size=40)
ROW: st.SearchStrategy[Row] = st.one_of(
    st.builds(Counters, U32, U64, U64),
    st.builds(StreamRow, U64, U64, NAME, BLOCK),
    st.builds(
        TopicRow,
        *(U64, U64, U64, st.sampled_from(Compression), U64, U64),
        *(st.sampled_from(Durability), st.sampled_from(Durability), U64, NAME, BLOCK, BLOCK),
    ),
    st.builds(PartitionRow, U64, U64, U64, U64),
    st.builds(UserRow, U64, st.sampled_from(UserStatus), NAME, BLOCK, U64, BLOCK, BLOCK),
)
DELTA: st.SearchStrategy[Delta] = st.builds(Put, BLOCK, BLOCK) | st.builds(Delete, BLOCK)


@given(row=ROW)
def test_what_is_encoded_is_decoded(row: Row) -> None:
    assert type(row).decode(row.encode()) == row


@given(row=ROW, data=st.data())
def test_a_value_of_another_length_is_no_row(row: Row, data: st.DataObject) -> None:
    value = row.encode()
    end = data.draw(st.integers(0, len(value) - 1))
    for other in (value[:end], value + b"\x00"):
        with pytest.raises(BadRowsError):
            type(row).decode(other)


def test_a_topic_row_has_its_layout() -> None:
    row = TopicRow(
        1, 2, 3, Compression.GZIP, 4, 5, Durability.PERSISTED, Durability.REPLICATED, 6, "t", b"e", b""
    )
    numbers = [number.to_bytes(8, "little") for number in range(1, 7)]
    expected = b"".join(numbers[:3]) + b"\x02" + b"".join(numbers[3:5]) + b"\x01\x00" + numbers[5]
    assert row.encode() == expected + b"\x01t" + b"\x01\x00\x00\x00e" + bytes(4)


def test_the_other_rows_have_their_layouts() -> None:
    one, two, three = (number.to_bytes(8, "little") for number in (1, 2, 3))
    assert Counters(1, 2, 3).encode() == b"\x01\x00\x00\x00" + two + three
    assert StreamRow(1, 2, "name", b"").encode() == one + two + b"\x04name" + bytes(4)
    assert PartitionRow(1, 2, 3, 1).encode() == one + two + three + one
    bob = UserRow(1, UserStatus.INACTIVE, "bob", b"hash", 2, b"", b"")
    assert bob.encode() == one + b"\x02\x03bob\x04\x00\x00\x00hash" + two + bytes(8)
    assert "hash" not in repr(bob)
    assert encode_next_user(258) == b"\x02\x01\x00\x00"
    assert decode_next_user(encode_next_user(258)) == 258
    with pytest.raises(BadRowsError):
        decode_next_user(bytes(5))


@pytest.mark.parametrize("place", [24, 41, 42])
def test_a_value_from_a_later_version_is_refused(place: int) -> None:
    row = TopicRow(
        0, 0, 0, Compression.NONE, 0, 0, Durability.REPLICATED, Durability.REPLICATED, 0, "t", b"", b""
    )
    value = bytearray(row.encode())
    value[place] = 3
    with pytest.raises(BadRowsError):
        TopicRow.decode(bytes(value))
    user = UserRow(1, UserStatus.INACTIVE, "bob", b"hash", 2, b"", b"").encode()
    with pytest.raises(BadRowsError):
        UserRow.decode(user[:8] + b"\x03" + user[9:])


def test_keys_are_ordered_as_their_numbers() -> None:
    keys = [
        COUNTERS_KEY,
        stream_key(1),
        topic_key(1, 2),
        partition_key(1, 2, 255),
        partition_key(1, 2, 256),
        topic_key(1, 3),
        stream_key(256),
        NEXT_USER_KEY,
        user_key(0),
        user_key(256),
    ]
    assert keys == sorted(keys)
    assert [key_path(key) for key in keys] == [
        (0,),
        (1, 1),
        (1, 1, 1, 2),
        (1, 1, 1, 2, 1, 255),
        (1, 1, 1, 2, 1, 256),
        (1, 1, 1, 3),
        (1, 256),
        (2,),
        (2, 0),
        (2, 256),
    ]


@pytest.mark.parametrize(
    "key", ["", "01", "03", "0000000001", "0300000001", "0100000001020000000101", "01000000010200000001"]
)
def test_what_is_no_key_is_refused(key: str) -> None:
    with pytest.raises(BadRowsError):
        key_path(bytes.fromhex(key))


@given(deltas=st.lists(DELTA, max_size=6))
def test_deltas_that_are_encoded_are_decoded(deltas: list[Delta]) -> None:
    encoded = encode_deltas(deltas)
    assert list(decode_deltas(encoded)) == deltas
    for end in range(len(encoded)):
        try:
            cut = list(decode_deltas(encoded[:end]))
        except BadRowsError:
            continue
        assert cut == deltas[: len(cut)]


def test_deltas_have_their_layout() -> None:
    deltas: list[Delta] = [Put(b"key", b"value"), Delete(b"k")]
    assert encode_deltas(deltas) == b"\x01\x03\x00key\x05\x00\x00\x00value" + b"\x02\x01\x00k"


@pytest.mark.parametrize("encoded", ["0301006b00000000", "0001006b", "01", "0101006b05000000"])
def test_what_are_no_deltas_is_refused(encoded: str) -> None:
    with pytest.raises(BadRowsError):
        list(decode_deltas(bytes.fromhex(encoded)))
