"""Bodies of commands: the layouts of the reference, and bytes that are none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server_ng.wire.options import Option, ValueKind
from server_ng.wire.refusals import MalformedError
from server_ng.wire.requests import (
    CreatePartitions,
    CreateStream,
    CreateTopic,
    DeletePartitions,
    DeleteSegments,
    DeleteStream,
    DeleteTopic,
    PurgeStream,
    PurgeTopic,
    UpdateStream,
    UpdateTopic,
)
from tests.support.golden import golden_bytes
from tests.support.metadata_log import OPERATIONS, Request

CREATE_TOPIC = CreateTopic(
    "orders",
    3,
    "events",
    (
        Option("durability", ValueKind.TEXT, b"persisted"),
        Option("message_expiry", ValueKind.U64, (3_600_000_000).to_bytes(8, "little")),
        Option("segment_size", ValueKind.U64, (1 << 30).to_bytes(8, "little")),
    ),
)
CREATE_TOPIC_BODY = bytes.fromhex(
    "02066f726465727303000000066576656e7473020a0000006475726162696c6974790209000000706572736973746564"
    "020e0000006d6573736167655f6578706972790c0800000000a493d600000000020c0000007365676d656e745f73697a"
    "650c080000000000004000000000"
)

NUMBER = st.integers(0, 2**32 - 1)
NAME = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
IDENTIFIER = NUMBER | NAME
OPTION = st.builds(Option, NAME, st.integers(1, 255), st.binary(min_size=1, max_size=255))
OPTIONS = st.lists(OPTION, max_size=3, unique_by=lambda option: option.key).map(tuple)
REQUEST: st.SearchStrategy[Request] = st.one_of(
    st.builds(CreateStream, NAME, OPTIONS),
    st.builds(UpdateStream, IDENTIFIER, NAME, OPTIONS),
    st.builds(DeleteStream, IDENTIFIER),
    st.builds(PurgeStream, IDENTIFIER),
    st.builds(CreateTopic, IDENTIFIER, NUMBER, NAME, OPTIONS),
    st.builds(UpdateTopic, IDENTIFIER, IDENTIFIER, NAME, OPTIONS),
    st.builds(DeleteTopic, IDENTIFIER, IDENTIFIER),
    st.builds(PurgeTopic, IDENTIFIER, IDENTIFIER),
    st.builds(CreatePartitions, IDENTIFIER, IDENTIFIER, NUMBER),
    st.builds(DeletePartitions, IDENTIFIER, IDENTIFIER, NUMBER),
    st.builds(DeleteSegments, IDENTIFIER, IDENTIFIER, NUMBER, NUMBER),
)


def test_create_stream_has_the_layout_of_the_reference() -> None:
    body = golden_bytes("create_stream_request")[256:]
    assert CreateStream("orders").encode() == body
    assert CreateStream.decode(body) == CreateStream("orders")


def test_create_topic_has_the_layout_of_the_reference() -> None:
    assert CREATE_TOPIC.encode() == CREATE_TOPIC_BODY
    assert CreateTopic.decode(CREATE_TOPIC_BODY) == CREATE_TOPIC


@given(request=REQUEST)
def test_what_is_encoded_is_decoded(request: Request) -> None:
    body = request.encode()
    assert type(request).decode(body) == request


@given(request=st.sampled_from([DeleteStream(1), PurgeTopic("a", 2), CreatePartitions(0, "b", 3)]))
def test_a_body_has_one_length(request: Request) -> None:
    body = request.encode()
    for end in range(len(body)):
        with pytest.raises(MalformedError):
            type(request).decode(body[:end])
    with pytest.raises(MalformedError):
        type(request).decode(body + b"\x00")


@given(kind=st.sampled_from(list(OPERATIONS)), body=st.binary(max_size=80))
def test_any_bytes_are_a_request_or_refused(kind: type[Request], body: bytes) -> None:
    try:
        request = kind.decode(body)
    except MalformedError:
        return
    assert request.encode() == body


@pytest.mark.parametrize(
    "identifier",
    ["00", "0104", "010300000000", "0105000000000000", "0200", "0201ff", "03020000", "0003616263"],
)
def test_what_is_no_identifier_is_malformed(identifier: str) -> None:
    with pytest.raises(MalformedError):
        DeleteStream.decode(bytes.fromhex(identifier))


@pytest.mark.parametrize("name", ["", "x" * 256, "\N{SNOWMAN}" * 86, "\ud800"])
def test_a_name_that_no_layout_can_carry_is_refused(name: str) -> None:
    for request in (CreateStream(name), DeleteStream(name)):
        with pytest.raises(MalformedError):
            request.encode()


@pytest.mark.parametrize("number", [-1, 2**32])
def test_a_number_that_no_layout_can_carry_is_refused(number: int) -> None:
    for request in (DeleteStream(number), CreatePartitions("s", "t", number)):
        with pytest.raises(MalformedError):
            request.encode()
