"""Many messages through the unmodified client: two sets of consumers see the same, and what was sent."""

import asyncio
import hashlib
from typing import Final

from apache_iggy import Consumer, IggyClient, PollingStrategy, SendMessage

from tests.sdk.clients import logged_in
from tests.support.fixtures import LONG, StartNode

MESSAGES: Final = 1_000_000 if LONG else 40_000
PARTITIONS: Final = 4
PER_BATCH: Final = 1_000
PER_POLL: Final = 700
SHARDS: Final = {"system.sharding.cpu_allocation": "2", "system.sharding.pin_cores": "false"}


def payload(partition: int, number: int) -> str:
    """A message that is told from every other."""
    return f"{partition}-{number}-" + "x" * (number % 120)


async def produce(client: IggyClient, partition: int) -> str:
    """Sends the messages of a partition; returns the digest of their payloads."""
    digest = hashlib.blake2b()
    for start in range(0, MESSAGES // PARTITIONS, PER_BATCH):
        payloads = [payload(partition, number) for number in range(start, start + PER_BATCH)]
        for each in payloads:
            digest.update(each.encode())
        await client.send_messages("many", "all", partition, [SendMessage(each) for each in payloads])
    return digest.hexdigest()


async def consume(client: IggyClient, consumer: str, partition: int) -> str:
    """Reads a partition to its end, going on where it was; returns the digest of the payloads."""
    digest = hashlib.blake2b()
    expected = 0
    while messages := await client.poll_messages(
        "many",
        "all",
        consumer=Consumer.Single(consumer),
        polling_strategy=PollingStrategy.Next(),
        count=PER_POLL,
        auto_commit=True,
        partition_id=partition,
    ):
        assert [message.offset() for message in messages] == list(range(expected, expected + len(messages)))
        expected += len(messages)
        for message in messages:
            digest.update(message.payload())
    return digest.hexdigest()


async def test_two_sets_of_consumers_read_what_was_sent(start_node: StartNode) -> None:
    node = start_node(settings=SHARDS)
    first = await logged_in(node)
    await first.create_stream("many")
    await first.create_topic("many", "all", PARTITIONS)
    clients = [await logged_in(node) for _ in range(PARTITIONS)]
    sent = await asyncio.gather(*(produce(client, at) for at, client in enumerate(clients)))
    for consumer in ("one", "other"):
        read = await asyncio.gather(
            *(consume(client, f"{consumer}-{at}", at) for at, client in enumerate(clients))
        )
        assert read == sent
        # The second set reads from the disk.
        assert node.terminate() == 0
        node.restart()
        clients = [await logged_in(node) for _ in range(PARTITIONS)]
