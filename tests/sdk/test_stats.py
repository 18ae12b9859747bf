"""What the statistics say of what is stored: exact, whatever came, went, or was restarted."""

from apache_iggy import IggyClient, SendMessage

from tests.sdk.clients import logged_in
from tests.support.fixtures import StartNode

SHARDS = {"system.sharding.cpu_allocation": "3", "system.sharding.pin_cores": "false"}

# A batch has a header of 256 bytes, a message one of 48.
BATCH = 256 + 10 * (48 + 100)


async def stored(client: IggyClient) -> tuple[int, int, int, int, int, int]:
    """Streams, topics, partitions, segments, messages and bytes."""
    stats = await client.get_stats()
    counts = (stats.streams_count, stats.topics_count, stats.partitions_count)
    return *counts, stats.segments_count, stats.messages_count, stats.messages_size_bytes


async def test_statistics_add_up_over_shards_and_restarts(start_node: StartNode) -> None:
    node = start_node(settings=SHARDS)
    client = await logged_in(node)
    assert await stored(client) == (0, 0, 0, 0, 0, 0)
    await client.create_stream("one")
    await client.create_stream("two")
    await client.create_topic("one", "a", 5)
    await client.create_topic("one", "b", 1)
    await client.create_topic("two", "c", 2)
    assert await stored(client) == (2, 3, 8, 8, 0, 0)
    for stream, topic, partition in (("one", "a", 0), ("one", "a", 4), ("one", "b", 0), ("two", "c", 1)):
        await client.send_messages(stream, topic, partition, [SendMessage("x" * 100)] * 10)
    assert await stored(client) == (2, 3, 8, 8, 40, 4 * BATCH)
    node.kill()
    node.restart()
    client = await logged_in(node)
    assert await stored(client) == (2, 3, 8, 8, 40, 4 * BATCH)
    await client.purge_topic("two", "c")
    assert await stored(client) == (2, 3, 8, 8, 30, 3 * BATCH)
    await client.delete_partitions("one", "a", 1)
    assert await stored(client) == (2, 3, 7, 7, 20, 2 * BATCH)
    await client.delete_topic("one", "b")
    assert await stored(client) == (2, 2, 6, 6, 10, BATCH)
    await client.delete_stream("one")
    await client.delete_stream("two")
    assert await stored(client) == (0, 0, 0, 0, 0, 0)
    assert node.terminate() == 0
    node.restart()
    assert await stored(await logged_in(node)) == (0, 0, 0, 0, 0, 0)
