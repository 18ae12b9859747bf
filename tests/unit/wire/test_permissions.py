"""Permission blocks: the golden one, nestings that are none, and the bounds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server_ng.wire.permissions import (
    PERMISSIONS_BYTES_MAX,
    Permissions,
    StreamPermissions,
    TopicPermissions,
)
from server_ng.wire.refusals import MalformedError
from server_ng.wire.tables import ErrorCode, GlobalFlag, StreamFlag, TopicFlag
from tests.support.golden import golden_bytes

NUMBER = st.integers(0, 2**32 - 1)
TOPIC = st.builds(TopicPermissions, NUMBER, st.integers(0, 2 ** len(TopicFlag) - 1))
TOPICS = st.lists(TOPIC, max_size=4, unique_by=lambda topic: topic.number).map(tuple)
STREAM = st.builds(StreamPermissions, NUMBER, st.integers(0, 2 ** len(StreamFlag) - 1), TOPICS)
STREAMS = st.lists(STREAM, max_size=4, unique_by=lambda stream: stream.number).map(tuple)
PERMISSIONS = st.builds(Permissions, st.integers(0, 2 ** len(GlobalFlag) - 1), STREAMS)


def of_streams(count: int) -> Permissions:
    return Permissions(streams=tuple(StreamPermissions(number, 1) for number in range(count)))


def test_a_block_has_the_layout_of_the_reference() -> None:
    topic = TopicPermissions(2, TopicFlag.SEND_MESSAGES)
    stream = StreamPermissions(1, StreamFlag.POLL_MESSAGES, (topic,))
    permissions = Permissions(GlobalFlag.READ_STREAMS, (stream,))
    assert permissions.encode() == golden_bytes("permissions")
    assert Permissions.decode(golden_bytes("permissions")) == permissions


@given(permissions=PERMISSIONS)
def test_what_is_encoded_is_decoded(permissions: Permissions) -> None:
    assert Permissions.decode(permissions.encode()) == permissions


@given(block=st.lists(st.integers(0, 1), max_size=80).map(bytes) | st.binary(max_size=80))
def test_any_bytes_are_a_block_or_refused(block: bytes) -> None:
    try:
        permissions = Permissions.decode(block)
    except MalformedError:
        return
    assert permissions.encode() == block


def test_a_block_has_one_length() -> None:
    block = golden_bytes("permissions")
    for end in range(len(block)):
        with pytest.raises(MalformedError):
            Permissions.decode(block[:end])
    with pytest.raises(MalformedError):
        Permissions.decode(block + b"\x00")


@pytest.mark.parametrize(
    "streams",
    [
        (StreamPermissions(7, 0), StreamPermissions(8, 0), StreamPermissions(7, 0)),
        (StreamPermissions(7, 0, (TopicPermissions(9, 0), TopicPermissions(9, 1))),),
    ],
)
def test_no_stream_and_no_topic_of_a_stream_occurs_twice(streams: tuple[StreamPermissions, ...]) -> None:
    with pytest.raises(MalformedError, match="occurs twice"):
        Permissions.decode(Permissions(streams=streams).encode())


def test_a_block_has_a_bound() -> None:
    block = of_streams(5_460).encode()
    assert len(block) <= PERMISSIONS_BYTES_MAX
    assert Permissions.decode(block) == of_streams(5_460)
    for count in (5_461, 10_000):
        with pytest.raises(MalformedError) as refused:
            Permissions.decode(of_streams(count).encode())
        assert refused.value.code == ErrorCode.INVALID_COMMAND
