"""Replies beyond 64 MiB: only clients built on Iggy's Rust SDK get them; others close the connection."""

import struct
from typing import Final

import pytest
from apache_iggy import Consumer, PollingStrategy, SendMessage

from tests.sdk.clients import logged_in
from tests.support.batches import number
from tests.support.fixtures import StartNode
from tests.support.frames import Reply, Request, password_body
from tests.support.node import Node
from tests.support.raw import PASSWORD, USERNAME, RawClient
from tests.support.topic_client import Place

MESSAGES: Final = 5_000
MESSAGE_BYTES: Final = 20_000
PLACE: Final = Place("large", "replies")
FRAME_BYTES_MAX: Final = 64 << 20
HEADER_BYTES: Final = 256
_POLL, _REGISTER = 100, 1
# What it takes to give one reply 128 MiB.
_SETTINGS: Final = {"system.sharding.cpu_allocation": "1", "memory.budget": "2 GiB"}


async def _fill(node: Node, per_batch: int) -> None:
    client = await logged_in(node)
    await client.create_stream(PLACE.stream)
    await client.create_topic(PLACE.stream, PLACE.topic, 1)
    for start in range(0, MESSAGES, per_batch):
        numbers = range(start, min(start + per_batch, MESSAGES))
        payloads = [struct.pack("<Q", at).ljust(MESSAGE_BYTES, b".") for at in numbers]
        await client.send_messages(PLACE.stream, PLACE.topic, 0, [SendMessage(each) for each in payloads])


async def _first_poll(node: Node) -> list[int]:
    """What the first poll of a new connection returns: the number in each message."""
    client = await logged_in(node)
    polled = await client.poll_messages(
        PLACE.stream,
        PLACE.topic,
        partition_id=0,
        consumer=Consumer.Single("reader"),
        polling_strategy=PollingStrategy.First(),
        count=MESSAGES,
        auto_commit=False,
    )
    assert all(len(message.payload()) == MESSAGE_BYTES for message in polled)
    return [struct.unpack_from("<Q", message.payload())[0] for message in polled]


def _reply_to(client: RawClient, sdk: bytes) -> Reply:
    """Logs in with a client library of this name, and polls for everything."""
    body = password_body(USERNAME, PASSWORD).replace(b"\x08rust-sdk", bytes([len(sdk)]) + sdk)
    client.client = 1 << 64 | sdk[0]
    client.send(Request(_REGISTER, body=body, client=client.client).encode())
    assert isinstance(client.read_login(), Reply)
    poll = struct.pack("<BIBQIB", 1, 0, 1, 0, MESSAGES, 0)
    return client.command(_POLL, b"\1" + number(9) + PLACE.identifiers + poll)


@pytest.mark.parametrize("per_batch", [30, 50])
async def test_one_poll_returns_100_mb_from_memory_and_from_the_disk(
    start_node: StartNode, per_batch: int
) -> None:
    node = start_node(settings=_SETTINGS)
    await _fill(node, per_batch)
    assert await _first_poll(node) == list(range(MESSAGES))
    assert node.terminate() == 0
    node.restart()
    assert await _first_poll(node) == list(range(MESSAGES))


async def test_only_a_login_of_the_rust_sdk_gets_more_than_64_mib(start_node: StartNode) -> None:
    node = start_node(settings=_SETTINGS)
    await _fill(node, 50)
    for sdk in (b"go-sdk", b"java-sdk", b"node-sdk", b"csharp-sdk"):
        with node.connect() as client:
            reply = _reply_to(client, sdk)
            frame_bytes = HEADER_BYTES + len(reply.body)
            assert FRAME_BYTES_MAX - 2 * MESSAGE_BYTES < frame_bytes <= FRAME_BYTES_MAX
    with node.connect() as client:
        # The connection counts its last login.
        assert HEADER_BYTES + len(_reply_to(client, b"go-sdk").body) <= FRAME_BYTES_MAX
        assert struct.unpack_from("<I", _reply_to(client, b"rust-sdk").body, 12) == (MESSAGES,)
        assert HEADER_BYTES + len(_reply_to(client, b"go-sdk").body) <= FRAME_BYTES_MAX
