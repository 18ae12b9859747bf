"""A server in a control group with little memory, and clients that would take all of it."""

import asyncio
import struct
from collections.abc import Iterator
from contextlib import ExitStack

import psutil
import pytest
from apache_iggy import Consumer, IggyClient, PollingStrategy, SendMessage

from tests.support.batches import batch, number
from tests.support.fixtures import LONG, StartNode
from tests.support.memory_group import MemoryGroup
from tests.support.node import Node, Plan
from tests.support.raw import PASSWORD, USERNAME, RawClient
from tests.support.topic_client import Place, TopicClient
from tests.support.waiting import until

MIB = 1 << 20
LIMIT = 256 * MIB
PLACE = Place("stream", "topic")
POLL = 100

BATCH_BYTES = 2_000_000
TOPIC_BYTES = (256 if LONG else 64) * MIB
BATCHES = TOPIC_BYTES // BATCH_BYTES
MESSAGE_BYTES = 50_000

NORMAL_READERS, STALLED_READERS = 4, 100


@pytest.fixture
def group() -> Iterator[MemoryGroup]:
    """256 MiB."""
    with MemoryGroup("small", LIMIT) as group:
        yield group


@pytest.fixture
def node(group: MemoryGroup, start_node: StartNode, backend: str) -> Iterator[Node]:
    """A server on its defaults in the group, before the group is removed."""
    settings = {"message_bus.max_message_size": "64 MiB", "system.io.backend": backend}
    node = start_node(Plan(settings, under=group.entering))
    yield node
    node.close()


async def _client(node: Node) -> IggyClient:
    client = IggyClient(node.tcp)
    await client.connect()
    await client.login_user(USERNAME, PASSWORD)
    return client


async def _fill(node: Node, message_bytes: int = MESSAGE_BYTES) -> None:
    client = await _client(node)
    await client.create_stream(PLACE.stream)
    await client.create_topic(PLACE.stream, PLACE.topic, 1)
    payloads = [bytes([number % 256]) * message_bytes for number in range(BATCH_BYTES // message_bytes)]
    for _ in range(BATCHES):
        await client.send_messages(
            PLACE.stream, PLACE.topic, 0, [SendMessage(payload) for payload in payloads]
        )


async def _read_all(node: Node, name: str, message_bytes: int = MESSAGE_BYTES) -> list[int]:
    """Reads the topic from its start to its end; returns how many messages each reply had."""
    client = await _client(node)
    replies: list[int] = []
    while sum(replies) * message_bytes < BATCHES * BATCH_BYTES:
        polled = await client.poll_messages(
            PLACE.stream,
            PLACE.topic,
            partition_id=0,
            consumer=Consumer.Single(name),
            polling_strategy=PollingStrategy.Offset(sum(replies)),
            count=100_000,
            auto_commit=False,
        )
        for message in polled:
            assert len(message.payload()) == message_bytes
        replies.append(len(polled))
    return replies


async def _read_side_by_side(node: Node, message_bytes: int) -> list[list[int]]:
    readers = range(NORMAL_READERS)
    return await asyncio.gather(*(_read_all(node, f"reader-{reader}", message_bytes) for reader in readers))


def _stall(client: RawClient, count: int = 300) -> None:
    """Asks again and again for the whole topic, and takes nothing."""
    poll = struct.pack("<BIBQIB", 1, 0, 1, 0, 100_000, 0)
    consumer = b"\1" + number(9)
    client.send(client.prepare(POLL, consumer + PLACE.identifiers + poll).encode() * count)


def _pss(node: Node) -> int:
    return int(psutil.Process(node.pid).memory_full_info().pss)


def _used(node: Node, part: str) -> float:
    return node.counters().total("memory_used_bytes", part=part)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("message_bytes", [MESSAGE_BYTES, 400_000])
def test_clients_that_never_read_leave_room_for_those_that_do(
    node: Node, group: MemoryGroup, message_bytes: int
) -> None:
    """Aim: nobody is starved or killed, a stop does not wait. Method: 100 that never read, 4 that do."""
    asyncio.run(_fill(node, message_bytes))
    with ExitStack() as stack:
        stalled = [stack.enter_context(node.connect_registered()) for _ in range(STALLED_READERS)]
        for client in stalled:
            _stall(client)
        until(lambda: _used(node, "replies") > MIB, "replies that nobody takes")
        replies = asyncio.run(_read_side_by_side(node, message_bytes))
        read = [sum(counts) * message_bytes for counts in replies]
        assert read == [BATCHES * BATCH_BYTES] * NORMAL_READERS
        largest = max(max(counts) for counts in replies)
        # A message that is larger than what its reply was promised takes the room that is kept for readers.
        assert largest * message_bytes > MIB or message_bytes > MESSAGE_BYTES, "who reads gets large replies"
        budget = node.counters().total("memory_budget_bytes", part="replies")
        # A reply has one message at least, whatever it was promised.
        assert _used(node, "replies") <= budget + STALLED_READERS * message_bytes
        assert node.terminate() == 0
    assert node.log("answers_cut") == []
    assert group.kills == 0
    assert group.used_at_most <= LIMIT


@pytest.mark.timeout(600)
def test_frames_as_large_as_there_are_come_one_after_the_other(node: Node, group: MemoryGroup) -> None:
    """Aim: producers of the largest frames are served or turned away. Method: six at once, a retry each."""
    payload = batch([b"x" * (20 * MIB)] * 3)
    with TopicClient(node.connect_registered()) as client:
        client.create_stream(PLACE.stream)
        client.create_topic(PLACE, 1, 1 << 30)
    with ExitStack() as stack:
        producers = [stack.enter_context(TopicClient(node.connect_registered())) for _ in range(3)]

        async def send(producer: TopicClient) -> None:
            while (await asyncio.to_thread(producer.send, PLACE, 0, payload, 3)).status == 58:
                pass

        async def send_all() -> None:
            await asyncio.gather(*(send(producer) for producer in producers for _ in range(1)))

        asyncio.run(send_all())
        assert producers[0].figures(PLACE).messages == 3 * len(producers)
    assert node.terminate() == 0
    assert group.kills == 0


@pytest.mark.timeout(600)
def test_memory_that_nobody_used_for_a_minute_is_given_back(node: Node, group: MemoryGroup) -> None:
    """Aim: an idle server is small again. Method: its resident memory before a scan and after a minute."""
    before = _pss(node)
    asyncio.run(_fill(node))
    asyncio.run(_read_all(node, "scanner"))
    assert _used(node, "poll_cache") > 8 * MIB
    until(lambda: _used(node, "poll_cache") == 0, "a poll cache that nobody uses is empty", within=120)
    until(lambda: _pss(node) < before + 16 * MIB, "pages are given back", within=60)
    assert node.terminate() == 0


def test_the_limit_of_the_control_group_is_that_of_the_budget(node: Node, group: MemoryGroup) -> None:
    event = node.wait_for_log("memory_budget")
    assert (event["limit_bytes"], event["budget_bytes"]) == (LIMIT, LIMIT // 4)
    assert str(group.path.parent.name) in event["limit_source"] or "memory.stat" in event["limit_source"]
    assert sum(event["parts"].values()) <= event["budget_bytes"]
    shown = node.counters()
    assert {part: shown.total("memory_budget_bytes", part=part) for part in event["parts"]} == event["parts"]
    assert node.terminate() == 0
