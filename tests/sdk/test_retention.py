"""Messages that go, as the unmodified client sees it: by age, by size, and by delete segments."""

import struct
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest
from apache_iggy import Consumer, IggyClient, IggyExpiry, MaxTopicSize, PollingStrategy, SendMessage

from tests.sdk.clients import logged_in
from tests.support.batches import name8, number
from tests.support.fixtures import StartNode
from tests.support.node import Node
from tests.support.waiting import WAIT_MAX

OFTEN = {
    "data_maintenance.messages.interval": "100ms",
    "system.sharding.cpu_allocation": "2",
    "system.sharding.pin_cores": "false",
}
MIB = 1 << 20
DELETE_SEGMENTS = 503


async def until(holds: Callable[[], Awaitable[bool]], what: str) -> None:
    """Returns as soon as the condition holds."""
    deadline = time.monotonic() + WAIT_MAX
    while not await holds():
        assert time.monotonic() < deadline, f"never came: {what}"


async def fill(client: IggyClient, batches: int) -> None:
    """Sends batches of 256 KiB into the one partition of topic `all`."""
    for _ in range(batches):
        await client.send_messages("kept", "all", 0, [SendMessage("x" * 32_000)] * 8)


async def figures(client: IggyClient) -> tuple[int, int, int, int]:
    """Messages, bytes, segments and current offset of the topic."""
    topic = await client.get_topic("kept", "all")
    assert topic is not None
    (row,) = topic.partitions
    assert (topic.messages_count, topic.size) == (row.messages_count, row.size)
    return row.messages_count, row.size, row.segments_count, row.current_offset


async def first(client: IggyClient, strategy: PollingStrategy | None = None) -> list[int]:
    """The offset of the first message that is left, if any is."""
    polled = await client.poll_messages(
        "kept",
        "all",
        consumer=Consumer.Single("reader"),
        polling_strategy=strategy or PollingStrategy.First(),
        count=1,
        auto_commit=False,
        partition_id=0,
    )
    return [message.offset() for message in polled]


async def store_offset(client: IggyClient, offset: int) -> None:
    """Stores an offset for consumer 7 of the partition."""
    body = b"\1" + number(7) + b"\2" + name8("kept") + b"\2" + name8("all")
    await client.send_binary_request(121, body + struct.pack("<BIQB", 1, 0, offset, 1))


async def delete_segments(client: IggyClient, count: int, topic: str = "all", partition: int = 0) -> bytes:
    """Deletes the oldest sealed segments."""
    body = b"\2" + name8("kept") + b"\2" + name8(topic) + struct.pack("<II", partition, count)
    return bytes(await client.send_binary_request(DELETE_SEGMENTS, body))


async def test_segments_have_the_size_of_their_topic(start_node: StartNode) -> None:
    node = start_node()
    client = await logged_in(node)
    await client.create_stream("kept")
    await client.create_topic("kept", "all", 1, segment_size=MIB)
    await fill(client, 16)

    async def are_sealed() -> bool:
        return (await figures(client))[2] == 4

    await until(are_sealed, "four batches fit into a segment")
    names = sorted((node.data / "groups").rglob("*.log"))
    assert len(names) == 4
    assert all(path.stat().st_size <= MIB + 8192 for path in names)
    node.kill()
    node.restart()
    client = await logged_in(node)
    await until(are_sealed, "the same after a restart")
    assert (await figures(client))[0] == 128


async def test_messages_go_when_they_are_too_old(start_node: StartNode) -> None:
    node = start_node(settings=OFTEN)
    client = await logged_in(node)
    await client.create_stream("kept")
    expiry = IggyExpiry.ExpireDuration(timedelta(seconds=2))
    await client.create_topic("kept", "all", 1, message_expiry=expiry)
    await fill(client, 2)

    async def is_empty() -> bool:
        return (await figures(client))[0] == 0

    await until(is_empty, "nothing is left of an idle topic")
    assert await figures(client) == (0, 0, 1, 15)
    for strategy in (PollingStrategy.First(), PollingStrategy.Last(), PollingStrategy.Offset(3)):
        assert await first(client, strategy) == []
    node.kill()
    node.restart()
    client = await logged_in(node)
    assert await figures(client) == (0, 0, 1, 15)
    sent = await client.send_messages("kept", "all", 0, [SendMessage("next")])
    assert [row.base_offset for row in sent.confirmations] == [16]


async def test_a_topic_holds_what_it_may_and_an_update_says_what(start_node: StartNode) -> None:
    client = await logged_in(start_node(settings=OFTEN))
    await client.create_stream("kept")
    await client.create_topic("kept", "all", 1, segment_size=MIB)
    await fill(client, 20)
    await client.update_topic("kept", "all", "all", max_topic_size=MaxTopicSize.Custom(2 * MIB))

    async def fits() -> bool:
        return (await figures(client))[1] <= 2 * MIB

    await until(fits, "what is too much goes")
    messages, size, _, current = await figures(client)
    assert size > MIB, "no more than had to"
    assert current == 159
    assert await first(client) == [160 - messages]
    assert await first(client, PollingStrategy.Offset(0)) == [160 - messages]


async def test_deleting_segments_takes_the_oldest_and_heeds_consumers(start_node: StartNode) -> None:
    node = start_node(settings=OFTEN)
    client = await logged_in(node)
    await client.create_stream("kept")
    await client.create_topic("kept", "all", 1, segment_size=MIB)
    await fill(client, 16)

    async def are_written() -> bool:
        return (await figures(client))[2] == 4

    await until(are_written, "four segments")
    assert await delete_segments(client, 1) == b""
    messages, _, segments, current = await figures(client)
    assert (messages, segments, current) == (96, 3, 127)
    assert await first(client) == [32]
    await store_offset(client, 40)
    assert await delete_segments(client, 9) == b"", "the second one is not read yet"
    assert (await figures(client))[2] == 3
    await store_offset(client, 70)
    assert await delete_segments(client, 9) == b""
    assert await figures(client) == (64, 64 * 32_048 + 8 * 256, 2, 127)
    node.kill()
    node.restart()
    client = await logged_in(node)
    assert await figures(client) == (64, 64 * 32_048 + 8 * 256, 2, 127)
    assert await first(client) == [64]


async def test_consumers_hold_nothing_where_the_operator_says_so(start_node: StartNode) -> None:
    node = start_node(settings=OFTEN | {"partition.consumer_idle_after": "none"})
    client = await logged_in(node)
    await client.create_stream("kept")
    await client.create_topic("kept", "all", 1, segment_size=MIB)
    await fill(client, 16)
    await store_offset(client, 0)

    async def are_written() -> bool:
        return (await figures(client))[2] == 4

    await until(are_written, "four segments")
    await delete_segments(client, 9)
    assert (await figures(client))[2] == 1


async def test_segments_of_what_is_not_there(served: Node) -> None:
    client = await logged_in(served)
    await client.create_stream("kept")
    await client.create_topic("kept", "all", 1)
    with pytest.raises(RuntimeError, match="Topic with ID"):
        await delete_segments(client, 1, topic="other")
    with pytest.raises(RuntimeError, match="Partition with ID"):
        await delete_segments(client, 1, partition=1)
    with pytest.raises(RuntimeError, match="Invalid command"):
        await client.send_binary_request(DELETE_SEGMENTS, b"\1")
    await client.delete_stream("kept")
    with pytest.raises(RuntimeError, match="Stream with ID"):
        await delete_segments(client, 1)
    await client.ping()
