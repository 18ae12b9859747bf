"""Topics compacted under a running server and its clients: readers see gaps, and nothing else."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from apache_iggy import Consumer, IggyClient, PollingStrategy, SendMessage
from pyspark.sql import SparkSession

from server_ng.spark.command import main
from server_ng.spark.cutter import Cutter, held
from tests.sdk.clients import logged_in
from tests.support.fixtures import StartNode
from tests.support.node import Node

PARTITIONS = 2
KEYS = 20
BATCH = 10
BATCHES = 60
PADDING = "x" * 6_000
SEGMENT = 1 << 20

pytestmark = pytest.mark.timeout(600)

Found = list[tuple[int, str, bytes]]
"""Offset, key and payload of messages."""


def key_of(number: int) -> str:
    """Each key comes again; some of the first are never heard of again."""
    return f"once {number}" if number < 5 else f"key {number % KEYS}"


async def send(client: IggyClient, partition: int, first: int, batches: int) -> None:
    """Sends batches of numbered messages."""
    for batch in range(batches):
        numbers = range(first + batch * BATCH, first + (batch + 1) * BATCH)
        messages = [SendMessage(f"{number} {PADDING}", {"key": key_of(number)}) for number in numbers]
        await client.send_messages("orders", "events", partition, messages)


async def poll(client: IggyClient, partition: int, strategy: PollingStrategy, count: int = 50) -> Found:
    polled = await client.poll_messages(
        "orders",
        "events",
        consumer=Consumer.Single("reader"),
        polling_strategy=strategy,
        count=count,
        auto_commit=False,
        partition_id=partition,
    )
    found = []
    for each in polled:
        headers = each.user_headers()
        assert headers is not None
        found.append((each.offset(), str(headers.to_scalar_dict()["key"]), bytes(each.payload())))
    return found


async def everything(client: IggyClient, partition: int) -> Found:
    """From the first message to the last one."""
    found: Found = []
    while some := await poll(client, partition, PollingStrategy.Offset(found[-1][0] + 1 if found else 0)):
        found += some
    return found


def check(found: Found, sealed_end: int = 0) -> None:
    """What is there is what was sent, in order, and the newest message of each key is there."""
    offsets = [offset for offset, _, _ in found]
    assert offsets == sorted(set(offsets))
    for offset, key, payload in found:
        assert (key, payload) == (key_of(offset), f"{offset} {PADDING}".encode())
    end = offsets[-1] + 1
    newest = {key_of(number): number for number in range(end)}
    assert set(newest.values()) <= set(offsets)
    left = [offset for offset in offsets if offset < sealed_end]
    assert left == sorted(offset for offset in newest.values() if offset < sealed_end)


def compact(node: Node, *words: str) -> int:
    """One job of this process."""
    control = str(node.endpoints["control"])
    return main(["compact", "--control", control, "--topic", "orders/events", "--json", *words])


async def filled(node: Node) -> IggyClient:
    client = await logged_in(node)
    await client.create_stream("orders")
    await client.create_topic("orders", "events", PARTITIONS, segment_size=SEGMENT)
    for partition in range(PARTITIONS):
        await send(client, partition, 0, BATCHES)
    return client


async def while_compacting(node: Node, client: IggyClient) -> tuple[int, Sequence[int]]:
    """A job, and meanwhile a producer and readers who go through all of it again and again."""
    reader = await logged_in(node)
    ended = asyncio.Event()
    passes = [0] * PARTITIONS

    async def read(partition: int) -> None:
        while not ended.is_set() or not passes[partition]:
            check(await everything(reader, partition))
            passes[partition] += 1

    async def produce() -> int:
        batches = BATCHES
        while not ended.is_set():
            for partition in range(PARTITIONS):
                await send(client, partition, batches * BATCH, 1)
            batches += 1
        return batches

    async with asyncio.TaskGroup() as group:
        for partition in range(PARTITIONS):
            group.create_task(read(partition))
        producing = group.create_task(produce())
        try:
            status = await asyncio.to_thread(compact, node)
        finally:
            ended.set()
    assert producing.result() >= BATCHES
    return status, passes


async def test_clients_poll_and_produce_while_a_topic_is_compacted(
    start_node: StartNode, capsys: pytest.CaptureFixture[str]
) -> None:
    node = start_node()
    client = await filled(node)
    with held(node.endpoints["control"], "orders", "events") as leased:
        ends = [cut.segments[-2].last_offset + 1 for cut in leased.lease.partitions]
    status, passes = await while_compacting(node, client)
    assert (status, min(passes) >= 1) == (0, True)
    report = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert report["adopted"] == report["segments_after"] >= PARTITIONS
    assert report["bytes_after"] < report["bytes"] / 4
    with held(node.endpoints["control"], "orders", "events") as leased:
        for cut in leased.lease.partitions:
            assert cut.segments[0].generation == 1
    before = [await everything(client, partition) for partition in range(PARTITIONS)]
    for found in before:
        check(found)
        assert len(found) < found[-1][0]
    node.kill()
    node.restart()
    client = await logged_in(node)
    assert [await everything(client, partition) for partition in range(PARTITIONS)] == before
    assert ends[0] > 0
    while compact(node) == 0:
        pass
    capsys.readouterr()
    for partition in range(PARTITIONS):
        with held(node.endpoints["control"], "orders", "events") as leased:
            sealed = [each for each in leased.lease.partitions[partition].segments if each.digest is not None]
        check(await everything(client, partition), sealed[-1].last_offset + 1)


def test_spark_reads_a_compacted_topic_as_clients_poll_it(
    spark: SparkSession, start_node: StartNode, capsys: pytest.CaptureFixture[str]
) -> None:
    node = start_node()
    client = asyncio.run(filled(node))
    del client
    assert compact(node) == 0
    capsys.readouterr()

    async def polled() -> list[tuple[int, int, str, bytes]]:
        reader = await logged_in(node)
        return [
            (partition, *message)
            for partition in range(PARTITIONS)
            for message in await everything(reader, partition)
        ]

    expected = asyncio.run(polled())
    source = spark.read.format("server_ng").options(
        control=str(node.endpoints["control"]), subscribe="orders/events"
    )
    rows = source.load().select("partition", "offset", "key", "value").collect()
    assert sorted((row[0], row[1], bytes(row[2]).decode(), bytes(row[3])) for row in rows) == expected
    part = source.option("startingOffsets", '{"0": 100, "1": 100}').option("minPartitions", "6").load()
    assert part.count() == sum(1 for _, offset, _, _ in expected if offset >= 100)


@pytest.mark.parametrize("first", ["another job", "a purge"])
async def test_a_job_that_comes_second_is_fenced(
    start_node: StartNode, capsys: pytest.CaptureFixture[str], first: str
) -> None:
    node = start_node()
    client = await filled(node)
    control = node.endpoints["control"]
    late = Cutter(Path(control)).cut("orders", "events", seconds=600)
    if first == "a purge":
        await client.purge_topic("orders", "events")
        await send(client, 0, 0, 1)
    else:
        assert compact(node) == 0
    before = [await everything(client, partition) for partition in range(PARTITIONS)]
    assert main(["compact", "--lease", str(late.path)]) == 4
    assert "another job, retention or a purge was there first" in capsys.readouterr().err
    assert [await everything(client, partition) for partition in range(PARTITIONS)] == before
    assert not (late.path / "outputs").exists()
