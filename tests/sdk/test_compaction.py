"""Compacted segments that a running server adopts, as the unmodified client sees them: gaps of offsets."""

from pathlib import Path

import pytest
from apache_iggy import Consumer, IggyClient, PollingStrategy, SendMessage

from tests.sdk.clients import logged_in
from tests.support.compaction import Offer, compact
from tests.support.control import Control
from tests.support.fixtures import StartNode
from tests.support.node import Node
from tests.support.waiting import until

MIB = 1 << 20
BATCH = 8
BATCHES = 40


def keeps(offset: int) -> bool:
    """Every third message survives, and nothing of every fifth batch."""
    return offset % 3 == 0 and offset // BATCH % 5 != 1


async def fill(client: IggyClient, batches: int) -> None:
    """Sends batches of 64 KiB into the one partition of topic `keys`."""
    for _ in range(batches):
        await client.send_messages("compacted", "keys", 0, [SendMessage("x" * 8_000)] * BATCH)


async def poll(
    client: IggyClient, strategy: PollingStrategy, count: int, *, commits: bool = False
) -> list[tuple[int, int]]:
    """Offset and timestamp of the messages that a poll answers."""
    polled = await client.poll_messages(
        "compacted",
        "keys",
        consumer=Consumer.Single("reader"),
        polling_strategy=strategy,
        count=count,
        auto_commit=commits,
        partition_id=0,
    )
    return [(message.offset(), message.timestamp()) for message in polled]


async def timestamps(client: IggyClient) -> dict[int, int]:
    """All messages from the first on, in polls of a few: the timestamp of each by its offset."""
    found: dict[int, int] = {}
    while messages := await poll(client, PollingStrategy.Offset(max(found, default=-1) + 1), 7):
        found.update(messages)
    return found


async def everything(client: IggyClient) -> list[int]:
    """All offsets."""
    return list(await timestamps(client))


async def figures(client: IggyClient) -> tuple[int, int, int]:
    """Messages, segments and current offset of the topic."""
    topic = await client.get_topic("compacted", "keys")
    assert topic is not None
    (row,) = topic.partitions
    assert (topic.messages_count, topic.size) == (row.messages_count, row.size)
    return row.messages_count, row.segments_count, row.current_offset


def offer(node: Node) -> Offer:
    """A lease of the topic, and what a job makes of its sealed segments."""
    with Control(node.endpoints["control"]) as job:
        path = job.cut("compacted", "keys")
    return compact(path, 0, keeps)


def adopt(node: Node, offered: Offer) -> dict[str, object]:
    """What the server says to a job's offer."""
    with Control(node.endpoints["control"]) as job:
        return job.ask("adopt", **offered.fields)


@pytest.fixture
async def client(start_node: StartNode) -> tuple[Node, IggyClient]:
    """A server with segments of 1 MiB in its one partition."""
    node = start_node()
    client = await logged_in(node)
    await client.create_stream("compacted")
    await client.create_topic("compacted", "keys", 1, segment_size=MIB)
    await fill(client, BATCHES)
    return node, client


async def check(client: IggyClient, left: list[int], times: dict[int, int]) -> None:
    """Polls by every strategy give what is left."""
    assert await everything(client) == left
    for count in (1, 5, 100):
        assert [offset for offset, _ in await poll(client, PollingStrategy.First(), count)] == left[:count]
        assert [offset for offset, _ in await poll(client, PollingStrategy.Last(), count)] == left[-count:]
    for offset in (0, 1, 7, 8, 9, 15, 16, 100, left[-1], left[-1] + 1):
        behind = [there for there in left if there >= offset][:3]
        assert [found for found, _ in await poll(client, PollingStrategy.Offset(offset), 3)] == behind
    for time in sorted(set(times.values()))[::5]:
        since = [offset for offset in left if times[offset] >= time][:3]
        found = await poll(client, PollingStrategy.Timestamp(time), 3)
        assert [offset for offset, _ in found] == since, time


async def walk(reader: IggyClient) -> list[int]:
    """The offsets behind the stored one, which follows."""
    walked: list[int] = []
    while found := await poll(reader, PollingStrategy.Next(), 6, commits=True):
        walked += [offset for offset, _ in found]
    return walked


async def test_every_strategy_polls_across_gaps(client: tuple[Node, IggyClient]) -> None:
    node, reader = client
    total = BATCHES * BATCH
    times = await timestamps(reader)
    assert list(times) == list(range(total))
    offered = offer(node)
    assert len(offered.inputs) >= 2
    answer = adopt(node, offered)
    assert answer == {"ok": True, "partition": 0, "generation": 1}
    left = [offset for offset in range(total) if offset >= offered.end or keeps(offset)]
    await check(reader, left, times)
    messages, segments, current = await figures(reader)
    assert (messages, segments, current) == (len(left), 2, total - 1)
    assert await walk(reader) == left
    assert adopt(node, offered) == answer, "asked again it is told the same"
    node.wait_for_count(1, "compaction_adopted_total")
    node.kill()
    node.restart()
    reader = await logged_in(node)
    assert await figures(reader) == (messages, segments, current)
    await check(reader, left, times)
    # A kill may take what was committed in the last 100 ms: the walk then begins anew, with the same gaps.
    walked = await walk(reader)
    assert walked == left[len(left) - len(walked) :]
    await fill(reader, 1)
    assert [offset for offset, _ in await poll(reader, PollingStrategy.Next(), 100)] == [
        *range(total, total + BATCH)
    ]


def group_files(node: Node) -> list[Path]:
    """The segments that lie in the data directory."""
    return sorted((node.data / "groups").rglob("*.log"))


async def test_what_was_replaced_is_gone_from_the_disk(client: tuple[Node, IggyClient]) -> None:
    node, reader = client
    offered = offer(node)
    before = group_files(node)
    assert adopt(node, offered)["ok"]
    until(lambda: len(group_files(node)) == len(before) - len(offered.inputs) + 1, "the old ones are removed")
    names = [path.name for path in group_files(node)]
    assert names[0] == f"{0:020}.1.log"
    second = offer(node)
    assert [each["generation"] for each in second.inputs] == [1]
    assert adopt(node, second) == {"ok": True, "partition": 0, "generation": 2}
    total = BATCHES * BATCH
    left = [offset for offset in range(total) if offset >= offered.end or keeps(offset)]
    assert await everything(reader) == left
