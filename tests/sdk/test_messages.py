"""Messages as the unmodified client sends and polls them, and offsets as it keeps them."""

from collections.abc import Sequence

import pytest
from apache_iggy import Consumer, IggyClient, PollingStrategy, ReceiveMessage, SendMessage

from tests.sdk.clients import logged_in
from tests.support.fixtures import StartNode
from tests.support.node import Node

SHARDS = {"system.sharding.cpu_allocation": "2", "system.sharding.pin_cores": "false"}


async def topic(client: IggyClient, stream: str, partitions: int = 1) -> None:
    """A stream with one topic, `all`."""
    await client.create_stream(stream)
    await client.create_topic(stream, "all", partitions)


async def send(client: IggyClient, stream: str, payloads: Sequence[str], partition: int = 0) -> None:
    """Sends one batch."""
    await client.send_messages(stream, "all", partition, [SendMessage(payload) for payload in payloads])


async def poll(
    client: IggyClient,
    stream: str,
    strategy: PollingStrategy,
    count: int = 100,
    consumer: str = "reader",
    auto_commit: bool = False,
    partition: int = 0,
) -> list[ReceiveMessage]:
    """Polls one partition of `all`."""
    return await client.poll_messages(
        stream,
        "all",
        consumer=Consumer.Single(consumer),
        polling_strategy=strategy,
        count=count,
        auto_commit=auto_commit,
        partition_id=partition,
    )


def offsets(messages: Sequence[ReceiveMessage]) -> list[int]:
    """Where the messages stand."""
    return [message.offset() for message in messages]


async def test_a_message_comes_out_as_it_went_in(served: Node) -> None:
    client = await logged_in(served)
    await topic(client, "echo")
    await send(client, "echo", ["first", "zweite", "третья"])
    messages = await poll(client, "echo", PollingStrategy.First())
    assert [message.payload().decode() for message in messages] == ["first", "zweite", "третья"]
    assert offsets(messages) == [0, 1, 2]
    assert len({message.timestamp() for message in messages}) == 1
    assert all(message.timestamp() >= message.origin_timestamp() for message in messages)


async def test_an_empty_partition_has_nothing_to_poll(served: Node) -> None:
    client = await logged_in(served)
    await topic(client, "empty")
    for strategy in (
        PollingStrategy.First(),
        PollingStrategy.Last(),
        PollingStrategy.Next(),
        PollingStrategy.Offset(0),
        PollingStrategy.Timestamp(0),
    ):
        assert await poll(client, "empty", strategy) == []


_STRATEGIES = {
    "the first": (PollingStrategy.First(), 4, [0, 1, 2, 3]),
    "from within a batch": (PollingStrategy.Offset(3), 4, [3, 4, 5, 6]),
    "over batches": (PollingStrategy.Offset(0), 100, list(range(20))),
    "the last of a batch": (PollingStrategy.Last(), 3, [17, 18, 19]),
    "the last over batches": (PollingStrategy.Last(), 7, list(range(13, 20))),
    "more than there are": (PollingStrategy.Last(), 100, list(range(20))),
    "beyond the end": (PollingStrategy.Offset(20), 5, []),
    "since the beginning of time": (PollingStrategy.Timestamp(0), 2, [0, 1]),
    "nothing stored": (PollingStrategy.Next(), 2, [0, 1]),
}


@pytest.mark.parametrize("restarted", [False, True], ids=["from memory", "from the disk"])
async def test_every_strategy(start_node: StartNode, restarted: bool) -> None:
    node = start_node()
    client = await logged_in(node)
    await topic(client, "ways")
    for batch in range(4):
        await send(client, "ways", [f"{batch}-{index}" for index in range(5)])
    if restarted:
        assert node.terminate() == 0
        node.restart()
        client = await logged_in(node)
    for case, (strategy, count, expected) in _STRATEGIES.items():
        assert offsets(await poll(client, "ways", strategy, count)) == expected, case


async def test_a_timestamp_finds_the_batch_that_was_appended_then(served: Node) -> None:
    client = await logged_in(served)
    await topic(client, "times")
    for name in ("a", "b", "c"):
        await send(client, "times", [name, name])
    everything = await poll(client, "times", PollingStrategy.First())
    second = everything[2].timestamp()
    assert offsets(await poll(client, "times", PollingStrategy.Timestamp(second))) == [2, 3, 4, 5]
    assert offsets(await poll(client, "times", PollingStrategy.Timestamp(second + 1))) == [4, 5]
    late = everything[-1].timestamp() + 1
    assert await poll(client, "times", PollingStrategy.Timestamp(late)) == []


async def test_auto_commit_moves_a_consumer_on(start_node: StartNode) -> None:
    node = start_node()
    client = await logged_in(node)
    await topic(client, "steps")
    await send(client, "steps", [str(number) for number in range(10)])
    following = PollingStrategy.Next()
    assert offsets(await poll(client, "steps", following, 4, auto_commit=True)) == [0, 1, 2, 3]
    assert offsets(await poll(client, "steps", following, 4, auto_commit=True)) == [4, 5, 6, 7]
    assert offsets(await poll(client, "steps", following, 4, "another", auto_commit=True)) == [0, 1, 2, 3]
    # An orderly stop leaves no offset behind.
    assert node.terminate() == 0
    node.restart()
    client = await logged_in(node)
    assert offsets(await poll(client, "steps", following, 4, auto_commit=True)) == [8, 9]
    assert await poll(client, "steps", following, 4, auto_commit=True) == []


async def test_partitions_are_apart(start_node: StartNode) -> None:
    client = await logged_in(start_node(settings=SHARDS))
    await topic(client, "apart", 4)
    for partition in range(4):
        await send(client, "apart", [f"{partition}"] * (partition + 1), partition)
    for partition in range(4):
        messages = await poll(client, "apart", PollingStrategy.First(), partition=partition)
        assert offsets(messages) == list(range(partition + 1))
        assert {message.payload().decode() for message in messages} == {str(partition)}


async def test_figures_follow_the_messages_and_survive_a_restart(start_node: StartNode) -> None:
    node = start_node(settings=SHARDS)
    client = await logged_in(node)
    await topic(client, "figures", 2)
    for partition in (0, 1):
        await send(client, "figures", ["x" * 100] * 10, partition)
    # A batch has a header of 256 bytes, a message one of 48.
    size = 2 * (256 + 10 * (48 + 100))

    async def figures() -> tuple[int, int, list[tuple[int, int, int]]]:
        found = await client.get_topic("figures", "all")
        assert found is not None
        rows = [(row.messages_count, row.current_offset, row.segments_count) for row in found.partitions]
        return found.messages_count, found.size, rows

    expected = (20, size, [(10, 9, 1), (10, 9, 1)])
    assert await figures() == expected
    node.kill()
    node.restart()
    client = await logged_in(node)
    assert await figures() == expected


async def test_a_purge_leaves_nothing_and_begins_at_zero(start_node: StartNode) -> None:
    node = start_node(settings=SHARDS)
    client = await logged_in(node)
    await topic(client, "purged", 2)
    for partition in (0, 1):
        await send(client, "purged", ["old"] * 5, partition)
        await poll(client, "purged", PollingStrategy.Next(), auto_commit=True, partition=partition)
    await client.purge_topic("purged", "all")
    found = await client.get_topic("purged", "all")
    assert found is not None
    assert (found.messages_count, found.size) == (0, 0)
    assert await poll(client, "purged", PollingStrategy.First()) == []
    await send(client, "purged", ["new"])
    assert offsets(await poll(client, "purged", PollingStrategy.Next(), auto_commit=True)) == [0]
    node.kill()
    node.restart()
    client = await logged_in(node)
    messages = await poll(client, "purged", PollingStrategy.First())
    assert [message.payload() for message in messages] == [b"new"]
    await client.purge_stream("purged")
    assert await poll(client, "purged", PollingStrategy.First()) == []
