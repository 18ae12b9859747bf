"""Streams and topics as the unmodified client makes, reads, changes and removes them."""

import pytest
from apache_iggy import IggyClient, SendMessage

from tests.sdk.clients import logged_in
from tests.support.fixtures import StartNode
from tests.support.node import Node

SHARDS = {"system.sharding.cpu_allocation": "2", "system.sharding.pin_cores": "false"}


async def test_a_stream_from_its_creation_to_its_end(start_node: StartNode) -> None:
    client = await logged_in(start_node())
    assert await client.get_streams() == []
    await client.create_stream("orders")
    stream = await client.get_stream("orders")
    assert stream is not None
    assert (stream.id, stream.name, stream.topics_count, stream.messages_count) == (0, "orders", 0, 0)
    assert stream.created_at > 0
    await client.update_stream("orders", "bills")
    assert await client.get_stream("orders") is None
    renamed = await client.get_stream(0)
    assert renamed is not None
    assert (renamed.name, renamed.created_at) == ("bills", stream.created_at)
    await client.delete_stream("bills")
    assert await client.get_streams() == []


async def test_the_lowest_free_number_is_given_again(served: Node) -> None:
    client = await logged_in(served)
    for name in ("free-a", "free-b", "free-c"):
        await client.create_stream(name)
    numbers = {stream.name: stream.id for stream in await client.get_streams()}
    await client.delete_stream("free-b")
    await client.create_stream("free-d")
    again = await client.get_stream("free-d")
    assert again is not None
    assert again.id == numbers["free-b"]


async def test_a_topic_with_partitions_and_options(served: Node) -> None:
    client = await logged_in(served)
    await client.create_stream("with-topics")
    await client.create_topic("with-topics", "all", 3, segment_size=1 << 20)
    topic = await client.get_topic("with-topics", "all")
    assert topic is not None
    assert (topic.id, topic.name, topic.partitions_count, topic.messages_count) == (0, "all", 3, 0)
    await client.create_partitions("with-topics", "all", 2)
    await client.delete_partitions("with-topics", "all", 1)
    topic = await client.get_topic("with-topics", 0)
    assert topic is not None
    assert topic.partitions_count == 4
    assert [other.name for other in await client.get_topics("with-topics")] == ["all"]
    await client.delete_topic("with-topics", "all")
    assert await client.get_topic("with-topics", "all") is None


async def taken_stream(client: IggyClient) -> None:
    await client.create_stream("taken")
    await client.create_stream("taken")


_REFUSALS = {
    "a name that is taken": (taken_stream, "already exists"),
    "a stream that is not there": (lambda client: client.delete_stream("nowhere"), "Stream with ID"),
    "a topic of no stream": (lambda client: client.create_topic("nowhere", "all", 1), "Stream with ID"),
    "too many partitions": (
        lambda client: client.create_topic("nowhere", "all", 1001),
        "Too many partitions",
    ),
    "an unknown option": (
        lambda client: client.create_topic("nowhere", "all", 1, options={"colour": "red"}),
        "option",
    ),
}


@pytest.mark.parametrize("case", _REFUSALS)
async def test_what_cannot_be_is_refused_and_the_session_lives(served: Node, case: str) -> None:
    attempt, message = _REFUSALS[case]
    client = await logged_in(served)
    with pytest.raises(RuntimeError, match=message):
        await attempt(client)
    await client.get_stats()


@pytest.mark.parametrize("settings", [{}, SHARDS], ids=["one shard", "two shards"])
async def test_what_was_answered_survives_kill_9(start_node: StartNode, settings: dict[str, str]) -> None:
    node = start_node(settings=settings)
    client = await logged_in(node)
    await client.create_stream("kept")
    for name in ("a", "b", "c"):
        await client.create_topic("kept", name, 5)
    await client.delete_topic("kept", "b")
    sent = await client.send_messages("kept", "a", 4, [SendMessage("one"), SendMessage("two")])
    assert [row.base_offset for row in sent.confirmations] == [0]
    node.kill()
    node.restart()
    client = await logged_in(node)
    topics = await client.get_topics("kept")
    assert [(topic.id, topic.name, topic.partitions_count) for topic in topics] == [(0, "a", 5), (2, "c", 5)]
    again = await client.send_messages("kept", "a", 4, [SendMessage("three")])
    assert [row.base_offset for row in again.confirmations] == [2]


async def test_a_topic_that_was_made_again_begins_at_zero(start_node: StartNode) -> None:
    """Aim: nothing of the old one is met. Method: the same name and numbers, over and over, with messages."""
    client = await logged_in(start_node(settings=SHARDS))
    await client.create_stream("storm")
    for _ in range(50):
        await client.create_topic("storm", "all", 2)
        for partition in (0, 1):
            sent = await client.send_messages("storm", "all", partition, [SendMessage("x")])
            assert [row.base_offset for row in sent.confirmations] == [0]
        await client.delete_topic("storm", "all")
